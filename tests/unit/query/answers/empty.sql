select 1 as number, 'x' as word where false
