select {'type': 'user', 'at': timestamp '2023-07-10 11:42:00', 'session': '{"mfa": [1, 2]}'::json} as identity,
  [1, null, 3] as numbers, '{"a": {"b": "c,d"}}'::json as request, map {'k': 'v'} as tags, null::json as nothing
