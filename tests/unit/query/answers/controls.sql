select e'line one\nline two' as lines, e'a\tb' as tab, e'\x1b[31mred' as escape, 'say "hi"' as quote, 'a,b' as comma
