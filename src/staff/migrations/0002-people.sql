-- Works with 1.0.0 and newer releases.

-- The last change of role or restaurants; null before the first one.
alter table panel.users add column changed_at timestamptz;

-- WebAuthn credentials, which are a way to sign in with both factors at once.
create table panel.passkeys (
  -- As the authenticator names it.
  credential_id bytea primary key,
  -- To name it in pages and in the audit.
  id text not null unique,
  user_id text not null references panel.users on delete cascade,
  name text not null,
  public_key bytea not null,
  counter bigint not null,
  created_at timestamptz not null,
  used_at timestamptz
);
create index passkeys_of_user on panel.passkeys (user_id, created_at);

-- Challenges are sealed and held by the browser; one that was answered is kept here until it has ended, so that it works once.
create table panel.used_challenges (
  digest bytea primary key,
  ends_at timestamptz not null
);
create index used_challenges_by_age on panel.used_challenges (ends_at);

alter table panel.sessions drop constraint sessions_method_check;
alter table panel.sessions add constraint sessions_method_check
  check (method in ('password', 'totp', 'recovery', 'oidc', 'link', 'passkey'));

-- Roles whose users need a second factor.
create table panel.second_factor_roles (
  role text primary key
);

-- Where a user wants notices. The address is sealed, because such addresses often hold a secret.
create table panel.notice_targets (
  user_id text primary key references panel.users on delete cascade,
  mail boolean not null,
  url bytea,
  -- Origin of the address, to show.
  url_origin text
);

-- What a user wants to be notified of.
create table panel.notice_choices (
  user_id text not null references panel.users on delete cascade,
  kind text not null,
  primary key (kind, user_id)
);
create index notice_choices_of_user on panel.notice_choices (user_id);

-- Decided notices, sent or not. The key makes each of them one for each user and channel.
create table panel.notices (
  user_id text not null references panel.users on delete cascade,
  key text not null,
  channel text not null check (channel in ('mail', 'hook')),
  kind text not null,
  facts text not null,
  created_at timestamptz not null,
  attempts integer not null default 0,
  -- The next attempt, or the end of the lease of the running one.
  due_at timestamptz not null,
  done_at timestamptz,
  outcome text check (outcome in ('sent', 'failed', 'dropped')),
  primary key (user_id, key, channel)
);
create index notices_due on panel.notices (due_at) where done_at is null;
create index notices_by_age on panel.notices (created_at);
