-- Expressions whose values in the lake must be those that DuckDB computes, on both engines. One per line.
-- Columns and rows are in test_expressions.py.

-- text
lower(name)
upper(name)
lcase(name)
ucase(name)
trim(digits)
ltrim(digits)
rtrim(digits)
trim(name, 'Ae')
ltrim(name, 'A')
rtrim(name, 'eh')
trim(both 'A' from name)
length(name)
len(name)
char_length(name)
character_length(name)
strlen(name)
substr(name, 2, 3)
substring(name, 7)
substring(name from 2 for 3)
substr(name, -3, 2)
substr(name, 0, 2)
substr(name, 3, -2)
substr(name, -9, 5)
substr(name, small, 2)
substr(name, strpos(name, '_') + 1)
left(name, 3)
left(name, -3)
right(name, 3)
right(name, -3)
left(name, small)
replace(name, 'i', '\')
replace(name, '', 'x')
concat(name, '-', digits)
concat(small, ok, day)
name || '/' || digits
concat_ws('-', name, digits, 'end')
starts_with(name, 'A')
prefix(name, 'bob')
ends_with(name, 'h')
suffix(name, 'e')
contains(name, '''s')
contains(name, '${HOME}')
strpos(name, 'i')
instr(name, 'S')
position('S' in name)
lpad(digits, 6, '0')
rpad(digits, 2, 'x')
reverse(name)
repeat(digits, 2)
translate(name, 'Ai', 'xy')
md5(name)
sha1(name)
sha256(name)
string_split(request, '/')
str_split(request, '|')
split(request, '.')
string_to_array(request, ' ')
split_part(request, ' ', 2)
split_part(request, ' ', -1)
split_part(request, ' ', 0)
split_part(request, '?', 9)

-- patterns
name LIKE 'A%'
name LIKE '%\%'
name LIKE '%0$%%' ESCAPE '$'
name NOT LIKE '%e'
name ILIKE 'ÜN%'
name LIKE pattern
request LIKE 'line%tab'
request = E'line\nbreak\ttab'
name !~ '[a-z]+'
digits SIMILAR TO '[0-9]+'
digits ~ '\d+'
regexp_matches(name, '^[a-z]')
regexp_matches(name, '^[a-z]', 'i')
regexp_matches(name, '(?i)ünï')
regexp_matches(name, '\w+\s\w')
regexp_matches(name, '\bcode\b')
regexp_matches(request, '\.html\?')
regexp_matches(request, 'k$')
regexp_matches(request, 'line.break')
regexp_matches(request, 'line.break', 's')
regexp_matches(name, '50%', 'l')
regexp_matches(name, '[[:upper:]][^[:alpha:]]?')
regexp_matches(name, 'i{,2}')
regexp_matches(name, '\Q$\E')
regexp_full_match(digits, '-?\d+(\.\d+)?')
regexp_extract(request, '(\w+) (\S+)', 2)
regexp_extract(request, '\w+')
regexp_extract(request, '(?P<verb>[A-Z]+) (x)?', 2)
regexp_extract(request, 'nothing')
regexp_extract_all(request, '[a-z]=\d')
regexp_replace(request, '[aeiou]', '*')
regexp_replace(request, '[aeiou]', '*', 'g')
regexp_replace(request, '(\w+) (\S+)', '\2x\1$\\')
regexp_replace(request, '([a-z])=(\d)', '\2=\1', 'g')
regexp_replace(name, '[A-Z]', '', 'gi')
regexp_split_to_array(request, '[?&]')
string_split_regex(request, '\s+')

-- logic
ok
NOT ok
ok AND small > 0
ok OR small > 0
ok IS TRUE
ok IS NOT FALSE
name IS NULL
name IS NOT NULL
name = 'bob\it''s 50% ${HOME}'
name <> digits
name < 'b'
small = 5
small = '5'
digits = 404
small >= 1.5
ratio > small
price <= 12.34
big = small
port > 1000
ratio = 2.5
seen > '2026-01-01'
seen >= TIMESTAMP '2026-10-12 03:04:05'
seen < day
zoned > TIMESTAMPTZ '2026-01-01 00:00:00+02'
day = DATE '2026-10-12'
day BETWEEN '2026-01-01' AND '2026-12-31'
small NOT BETWEEN 1 AND 10
small IN (5, 7, NULL)
name IN ('', 'Alice_Smith')
digits IN ('404', '1.5')
small NOT IN (5)
name IS DISTINCT FROM digits
small IS NOT DISTINCT FROM NULL
CASE WHEN small > 0 THEN 'pos' WHEN small < 0 THEN 'neg' ELSE name END
CASE small WHEN 5 THEN 1 WHEN 0 THEN 2.5 END
if(ok, name, digits)
coalesce(ok, false)
coalesce(name, digits, 'none')
coalesce(small, ratio)
ifnull(name, '')
nullif(name, '')
nullif(small, 0)
greatest(small, 3)
least(ratio, small, 1)
greatest(name, digits)
NULL
true
'plain'
1.50

-- numbers
small + 1
big - 1
small * 2.5
price * 2
price + small
price - 0.005
ratio * 2
ratio + small
small / 2
small / 0
ratio / ratio
big // 2
small // 0
big % 5
small % 0
-ratio
-price
abs(ratio)
abs(price)
abs(port)
round(ratio)
round(price, 1)
round(ratio, 2)
floor(ratio)
floor(price)
ceil(ratio)
ceiling(price)
1 + 2 * 3

-- casts
CAST(small AS VARCHAR)
price::varchar
ok::varchar
seen::varchar
zoned::varchar
day::varchar
small::bigint
small::double
ratio::integer
price::integer
small::boolean
ok::integer
seen::date
day::timestamp
TRY_CAST(digits AS INTEGER)
TRY_CAST(digits AS DOUBLE)
TRY_CAST(digits AS DECIMAL(10,1))
TRY_CAST(name AS BIGINT)
TRY_CAST(digits AS BOOLEAN)
TRY_CAST(stamp AS TIMESTAMP)
TRY_CAST(stamp AS DATE)
TRY_CAST(big AS INTEGER)
TRY_CAST('1e3' AS INTEGER)
TRY_CAST(small AS UINTEGER)
TRY_CAST(digits AS USMALLINT)
ok::bigint
TRY_CAST(ratio AS UTINYINT)
small::bigint::hugeint
digits::varchar
doc::varchar

-- times
date_trunc('hour', seen)
datetrunc('month', day)
date_trunc('week', seen)
date_trunc('quarter', seen)
date_trunc('millisecond', seen)
date_part('year', seen)
datepart('isodow', seen)
extract(hour FROM seen)
extract(dow FROM day)
extract(epoch FROM seen)
date_part('ms', seen)
date_part('us', seen)
year(seen)
quarter(seen)
month(seen)
week(seen)
weekofyear(day)
day(seen)
dayofmonth(seen)
dayofweek(seen)
isodow(seen)
dayofyear(seen)
hour(seen)
minute(seen)
second(seen)
last_day(seen)
epoch(seen)
epoch_ms(seen)
epoch_us(seen)
epoch_ms(small::bigint)
to_timestamp(small)
to_timestamp(ratio)
make_timestamp(small::bigint)
make_timestamp(2026, 10, day(seen), 1, 2, 3.5)
make_date(2024, 2, day(seen) % 29 + 1)
seen + INTERVAL 1 DAY
seen - INTERVAL '1 month 2 days 03:04:05.5'
day + INTERVAL 1 MONTH
INTERVAL 90 MINUTE + seen
day + 7
day - 1
day - DATE '2024-01-01'
date_diff('day', seen, TIMESTAMP '2026-10-12')
datediff('hour', seen, zoned::timestamp + INTERVAL '59 minutes')
date_diff('month', day, DATE '2026-10-12')
date_diff('quarter', day, DATE '2026-10-12')
date_diff('year', day, DATE '2026-10-12')
date_diff('second', seen, TIMESTAMP '2026-10-12')
date_diff('millisecond', seen, TIMESTAMP '2026-10-12')
strftime(seen, '%Y-%m-%d %H:%M:%S.%f')
strftime(seen, '%d/%b/%Y %B %a %A %p %I %j %y %-d %%')
strftime(day, '%Y%m%d')
try_strptime(stamp, '%d/%b/%Y:%H:%M:%S %z')
try_strptime(stamp, '%Y-%m-%dT%H:%M:%SZ')
try_strptime(stamp, '%Y-%m-%d')
strptime(stamp, '%Y-%m-%dT%H:%M:%SZ')
try_strptime(digits, '%H%M')
try_strptime('03/07/2026 12:30 AM', '%m/%d/%Y %I:%M %p')
now() > TIMESTAMPTZ '2020-01-01 00:00:00+00'
current_timestamp IS NULL
today() > DATE '2020-01-01'

-- nested
who.type
who.accountid
who.session.level + 1
who.session.mfa IS TRUE
who IS NULL
labels['env']
labels['none']
tags[1]
tags[-1]
tags[0]
codes[9]
codes[small]
len(tags)
array_length(codes)
list_contains(tags, 'x')
list_has(tags, name)
array_contains(codes, 7)
list_distinct(tags)
list_value(name, digits)
[small, 1]
['a', name]
list_concat(tags, ['q'])
tags || ['q']
array_to_string(tags, '+')
doc ->> '$.a.b[2]'
doc ->> 'k.l'
doc ->> 'n'
doc -> 'a' ->> 'c d'
(doc ->> '$.a."c d"') = 'y'
doc ->> '$[1].a'
doc ->> 'n' = '1'
doc ->> 'n' IS NULL
doc -> 1 ->> 'a'
json_extract_string(doc, '$.num')::integer + 1
json_extract_string(doc, 't')
'{"a": [10, 20]}'::json ->> '$.a[1]'

-- forms that only DuckDB knows
strptime(stamp, '%b %d %H:%M:%S')
strptime(name, '%b %d')
try_strptime(stamp, '%b %d %H:%M:%S ')
strptime(request, '%b %d %H:%M:%S %y')
try_strptime('09:05:01.123', '%H:%M:%S.%g')
try_strptime(stamp, ['%b %d %H:%M:%S', '%Y-%m-%dT%H:%M:%SZ'])
strftime(seen, '%c')
strftime(seen, '%V %G %u %w %U')
cast('2024-01-01 00:00:00+02' as timestamp)
cast(stamp as timestamp)
seen AT TIME ZONE 'Europe/Berlin'
zoned AT TIME ZONE 'America/New_York'
timezone('Asia/Tokyo', seen)
seen - TIMESTAMP '2024-01-01'
age(seen, TIMESTAMP '2024-01-01')
seen::time
time_bucket(INTERVAL 15 MINUTE, seen)
date_trunc('century', seen)
small & 1
small << 2
xor(small, 3)
name GLOB 'A*'
name COLLATE NOCASE = 'ALICE_SMITH'
levenshtein(name, digits)
jaccard(name, 'Alice')
format('{} is {}', name, small)
printf('%05d', small)
hash(name)
base64(name::blob)
url_encode(request)
url_decode('a%20b')
bar(ratio, 0, 10, 5)
parse_path(request)
list_transform(tags, lambda tag: upper(tag))
list_transform(tags, tag -> tag || name)
list_filter(codes, lambda code: code > 1)
[code + 1 for code in codes if code > 0]
list_sort(tags)
list_sum(codes)
tags[1:2]
tags[2:]
name[1:3]
name[2]
'x' IN tags
struct_pack(a := name, b := small)
{'a': name, 'n': {'b': codes}}
map_keys(labels)
map_extract(labels, 'env')
doc -> 'a'
doc -> '$.a.b[#-1]'
doc -> '$.a.b'
doc.a
json_type(doc)
json_keys(doc)
json_array_length(doc -> '$.a.b')
json_valid(request)
to_json(who)
name.upper().left(3)
name.lower()
regexp_extract(request, '(\w+) (\S+)', ['verb', 'path'])
regexp_matches(name, '(?m)^[a-z]')
regexp_matches(name, pattern)
regexp_replace(request, '(a)', '\1x', 'g')
ratio::varchar
ratio::decimal(10,3)::varchar
small::hugeint * big
uuid_extract_version('0190163d-8694-739b-aea5-966c26f8ad91'::uuid)
md5(name)::uuid
digits::interval
to_days(small % 100)
('10.' || (small % 256) || '.0.1')::varchar
1e400
'x'::blob
