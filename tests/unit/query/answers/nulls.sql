select * from (values ('a', 1, true, 1.50), (null, null, null, null), ('', -22, false, 0.25)) t(word, number, flag, amount)
