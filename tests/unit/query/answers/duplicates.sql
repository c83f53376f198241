select 1 as a, 2 as a, 3 as a_1, 4 as "A"
