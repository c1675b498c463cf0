create schema panel;

-- Staff. Emails are kept in lower case, so that one person has one account.
create table panel.users (
  id text primary key,
  email text not null unique,
  role text not null check (role in ('owner', 'support', 'security', 'admin')),
  -- argon2id, keyed; null until the one-time link was used.
  password text,
  language text check (language in ('en', 'it')),
  disabled_at timestamptz,
  created_at timestamptz not null,
  -- Sealed. Without totp_since it was shown and not confirmed yet.
  totp_secret bytea,
  totp_since timestamptz,
  -- The last time step that was used: a code works once.
  totp_step bigint not null default 0,
  -- Who an external provider says this is; its subject is bound at the first such sign-in.
  oidc_issuer text,
  oidc_subject text,
  unique (oidc_issuer, oidc_subject)
);

-- What an owner sees. Other roles see every restaurant.
create table panel.user_restaurants (
  restuid text not null,
  user_id text not null references panel.users on delete cascade,
  primary key (user_id, restuid)
);

-- One live link per user: a new one ends the former.
create table panel.links (
  user_id text primary key references panel.users on delete cascade,
  digest bytea not null unique,
  expires_at timestamptz not null
);
create index links_by_age on panel.links (expires_at);

create table panel.sessions (
  digest bytea primary key,
  -- To name it in lists; opens nothing.
  id text not null unique,
  user_id text not null references panel.users on delete cascade,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  address text not null,
  agent text not null,
  method text not null check (method in ('password', 'totp', 'recovery', 'oidc', 'link')),
  -- A message for the next page.
  flash text
);
create index sessions_of_user on panel.sessions (user_id, created_at);
create index sessions_by_age on panel.sessions (seen_at);

create table panel.recovery_codes (
  user_id text not null references panel.users on delete cascade,
  digest bytea not null,
  primary key (user_id, digest)
);

-- Browsers that signed in to an account before: strangers who guess cannot use up their attempts. One row for each account
-- that a browser signed in to.
create table panel.known_browsers (
  digest bytea primary key,
  user_id text not null references panel.users on delete cascade,
  seen_at timestamptz not null
);
create index known_browsers_of_user on panel.known_browsers (user_id, seen_at);
create index known_browsers_by_age on panel.known_browsers (seen_at);

-- Attempts to sign in within a window, by keyed digest of who is counted.
create table panel.attempts (
  digest bytea primary key,
  count integer not null,
  ends_at timestamptz not null
);
create index attempts_by_age on panel.attempts (ends_at);
