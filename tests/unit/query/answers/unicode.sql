select * from (values ('日本', 'wide'), ('é', 'one'), ('e' || chr(769), 'combined'), ('👍', 'emoji')) t(text, kind)
