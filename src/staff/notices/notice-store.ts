/** Choices of users and decided notices in PostgreSQL. */
import { type Kysely, sql } from 'kysely';
import type { Role } from '../accounts/role.ts';
import { type Found, isNoticeKind, type NoticeKind, wideRoles } from './notice.ts';

type Db = Kysely<unknown>;

export type Target = {
  mail: boolean;
  url: Buffer | undefined;
  urlOrigin: string | undefined;
  /** Signs notices to the address; sealed, as the previous one, which signs too until it ends. */
  secret: Buffer | undefined;
  previousSecret: Buffer | undefined;
  previousSecretEnds: Date | undefined;
};

type Secrets = { secret: Buffer | null; previous_secret: Buffer | null; previous_secret_ends: Date | null };

export const readTarget = async (db: Db, userId: string): Promise<Target> => {
  const { rows } = await sql<Secrets & { mail: boolean; url: Buffer | null; url_origin: string | null }>`
    select mail, url, url_origin, secret, previous_secret, previous_secret_ends
    from panel.notice_targets where user_id = ${userId}`.execute(db);
  const [row] = rows;
  return {
    mail: row?.mail ?? true,
    url: row?.url ?? undefined,
    urlOrigin: row?.url_origin ?? undefined,
    secret: row?.secret ?? undefined,
    previousSecret: row?.previous_secret ?? undefined,
    previousSecretEnds: row?.previous_secret_ends ?? undefined,
  };
};

export const readKinds = async (db: Db, userId: string): Promise<NoticeKind[]> => {
  const { rows } = await sql<{ kind: string }>`
    select kind from panel.notice_choices where user_id = ${userId}`.execute(db);
  return rows.map(({ kind }) => kind).filter(isNoticeKind);
};

export const replaceChoices = async (
  tx: Db,
  userId: string,
  { kinds, ...target }: Target & { kinds: readonly NoticeKind[] },
): Promise<void> => {
  await replaceTarget(tx, userId, target);
  await sql`delete from panel.notice_choices where user_id = ${userId}`.execute(tx);
  await sql`
    insert into panel.notice_choices (user_id, kind) select ${userId}, unnest(${kinds}::text[])`.execute(tx);
};

export const replaceTarget = async (tx: Db, userId: string, target: Target): Promise<void> => {
  await sql`
    insert into panel.notice_targets (user_id, mail, url, url_origin, secret, previous_secret, previous_secret_ends)
    values (${userId}, ${target.mail}, ${target.url ?? null}, ${target.urlOrigin ?? null}, ${target.secret ?? null},
      ${target.previousSecret ?? null}, ${target.previousSecretEnds ?? null})
    on conflict (user_id) do update set mail = excluded.mail, url = excluded.url, url_origin = excluded.url_origin,
      secret = excluded.secret, previous_secret = excluded.previous_secret,
      previous_secret_ends = excluded.previous_secret_ends`.execute(tx);
};

/** Kinds that at least one user has chosen: the sources of others are not read. */
export const chosenKinds = async (db: Db): Promise<NoticeKind[]> => {
  const { rows } = await sql<{ kind: string }>`select distinct kind from panel.notice_choices`.execute(db);
  return rows.map(({ kind }) => kind).filter(isNoticeKind);
};

/** chosen: of each kind, a user gets so many in an hour on a channel. */
const perHourMax = 30;

/**
 * One row for each happening, for each user who has chosen the kind and may see it, and for each of the user's channels. Beyond
 * the bound a happening gets its row in a later call, if it is still found then; the first of each tenant and client come before further ones.
 */
export const decideNotices = async (db: Db, kind: NoticeKind, found: readonly Found[], now: Date): Promise<void> => {
  const rows = found.map(({ key, tenant, client, facts }, place) => ({
    ...{ key, tenant, client, place },
    facts: JSON.stringify(facts),
  }));
  await sql`
    with recent as (
      select user_id, channel, count(*) as decided from panel.notices
      where kind = ${kind} and created_at > ${now}::timestamptz - interval '1 hour' group by user_id, channel
    ), missing as (
      select u.id as user_id, f.key, c.channel, f.facts, f.place, f.tenant, f.client,
        row_number() over (partition by u.id, c.channel, coalesce(f.tenant, f.client) order by f.place) as of_tenant
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (key text, tenant text, client text, facts text, place int)
      join panel.notice_choices n on n.kind = ${kind}
      join panel.users u on u.id = n.user_id
      join panel.notice_targets t on t.user_id = u.id
      cross join lateral (values ('mail', t.mail), ('hook', t.url is not null)) as c (channel, is_on)
      where c.is_on and u.disabled_at is null
        and (u.role = any (${wideRoles(kind)}::text[])
          or (u.role = 'owner' and exists (
            select 1 from panel.user_restaurants r where r.user_id = u.id and r.restuid = f.tenant))
          or (u.role = 'contact' and exists (
            select 1 from panel.user_clients k where k.user_id = u.id and k.client_id = f.client)))
        and not exists (
          select from panel.notices d where d.user_id = u.id and d.key = f.key and d.channel = c.channel)
    ), next as (
      select m.*, row_number() over (partition by user_id, channel order by of_tenant, place) as turn from missing m
    )
    insert into panel.notices (user_id, key, channel, kind, facts, tenant, client, created_at, due_at)
    select user_id, key, channel, ${kind}, facts, tenant, client, ${now}, ${now}
    from next left join recent using (user_id, channel)
    where turn + coalesce(decided, 0) <= ${perHourMax}
    -- One order, so that two workers which decide the same cannot block each other.
    order by 1, 2, 3
    on conflict (user_id, key, channel) do nothing`.execute(db);
};

export type DueNotice = Secrets & {
  user_id: string;
  key: string;
  channel: 'mail' | 'hook';
  kind: NoticeKind;
  facts: string;
  created_at: Date;
  attempts: number;
  email: string;
  role: Role;
  language: string | null;
  url: Buffer | null;
  /** The user still wants it on this channel, is not disabled, and as an owner or contact still has what it is about. */
  is_wanted: boolean;
};

/** Takes due notices until `leaseEnd`: another worker leaves them alone until then. */
export const claimDue = async (db: Db, now: Date, leaseEnd: Date, limit: number): Promise<DueNotice[]> => {
  const { rows } = await sql<DueNotice>`
    with due as (
      select user_id, key, channel from panel.notices
      where done_at is null and due_at <= ${now} order by due_at limit ${limit} for update skip locked
    ), claimed as (
      update panel.notices n set due_at = ${leaseEnd}, attempts = n.attempts + 1 from due
      where n.user_id = due.user_id and n.key = due.key and n.channel = due.channel
      returning n.user_id, n.key, n.channel, n.kind, n.facts, n.tenant, n.client, n.created_at, n.attempts
    )
    select claimed.*, u.email, u.role, u.language, t.url, t.secret, t.previous_secret, t.previous_secret_ends,
      u.disabled_at is null and case claimed.channel when 'mail' then t.mail else t.url is not null end
        and exists (select 1 from panel.notice_choices c where c.user_id = u.id and c.kind = claimed.kind)
        -- Without both it was written by an earlier release. One of both is no sign of that: a leak may be of a client alone.
        and (u.role <> 'owner' or coalesce(claimed.tenant, claimed.client) is null or exists (
          select 1 from panel.user_restaurants r where r.user_id = u.id and r.restuid = claimed.tenant))
        and (u.role <> 'contact' or coalesce(claimed.tenant, claimed.client) is null or exists (
          select 1 from panel.user_clients k where k.user_id = u.id and k.client_id = claimed.client)) as is_wanted
    from claimed join panel.users u on u.id = claimed.user_id join panel.notice_targets t on t.user_id = u.id`.execute(
    db,
  );
  return rows;
};

type NoticeId = Pick<DueNotice, 'user_id' | 'key' | 'channel'>;

export const finishNotice = async (
  db: Db,
  { user_id, key, channel }: NoticeId,
  outcome: 'sent' | 'failed' | 'dropped',
  now: Date,
): Promise<void> => {
  await sql`
    update panel.notices set done_at = ${now}, outcome = ${outcome}
    where user_id = ${user_id} and key = ${key} and channel = ${channel}`.execute(db);
};

export const delayNotice = async (db: Db, { user_id, key, channel }: NoticeId, until: Date): Promise<void> => {
  await sql`
    update panel.notices set due_at = ${until}
    where user_id = ${user_id} and key = ${key} and channel = ${channel}`.execute(db);
};

/** Rows are kept longer than a source finds a happening: a dropped row would be decided again. */
export const dropOldNotices = async (db: Db, before: Date): Promise<void> => {
  await sql`delete from panel.notices where created_at < ${before}`.execute(db);
};
