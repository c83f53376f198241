select timestamp '2023-07-10 11:42:00' as ts, timestamp '2023-07-10 11:42:00.5' as ts_fraction,
  timestamptz '2023-07-10 11:42:00+02' as ts_zone, date '2023-07-10' as day, time '11:42:00' as clock,
  9007199254740993 as big, 170141183460469231731687303715884105727 as huge, 1.10::decimal(9, 2) as exact,
  'nan'::double as not_a_number, ['inf'::double, 2] as floats, '\xAA\xBB'::blob as bytes, interval '2 months' as span,
  'f1f2a9e4-0000-4000-8000-000000000001'::uuid as id
