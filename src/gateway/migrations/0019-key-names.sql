-- Works with 1.0.0 and newer releases.
-- Keys by name, ignoring case: the command line takes a name in place of an id.
create index api_keys_names on gateway.api_keys (lower(name));
