/** Endpoints with backlogs, made by SQL, since thousands of events would take long to record. */
import { sql } from 'kysely';
import type { EndpointClass } from '#src/webhooks/pacing/concurrency-limit.ts';
import { endpointSecretLabel } from '#src/webhooks/signing/opened-secrets.ts';
import { type Engine, tenant } from './engine.ts';

/** Due deliveries of one endpoint, each of an entity of its own. */
export const fill = async (engine: Engine, endpointUid: string, count: number, dueInMs = 0): Promise<void> => {
  const now = engine.clock.now();
  await sql`
    insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
    select platform.id_bound('evt', ${now}) || ${endpointUid} || lpad(n::text, 8, '0'), ${tenant}, 'customers',
      'customer.changed', 'cus_' || ${endpointUid} || n, 1, ${now}, '{"backlog":true}'
    from generate_series(1, ${count}::int) as n`.execute(engine.db);
  await sql`delete from outbox.waiting`.execute(engine.db);
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
      next_attempt_at, created)
    select tenant, 'dlv_' || id, ${endpointUid}, id, event, kind, entity, seq, position, 'pending',
      ${new Date(now.getTime() + dueInMs)}::timestamptz, ${now}
    from outbox.events where id like '%' || ${endpointUid} || '%'`.execute(engine.db);
};

/** Endpoints that were tried before, each of a tenant of its own. Returns their uids. */
export const addTried = async (
  engine: Engine,
  { url, count, endpointClass }: { url: string; count: number; endpointClass: EndpointClass },
): Promise<string[]> => {
  const { rows } = await sql<{ made: number }>`select count(*)::int as made from webhooks.endpoints`.execute(engine.db);
  const uids = Array.from({ length: count }, (_, index) => `whe_${(rows[0]?.made ?? 0) + index}_`);
  const secrets = uids.map((uid) => engine.box.seal('a-secret-of-24-characters', endpointSecretLabel(uid)));
  await sql`
    insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
    select 'rst_' || uid, uid, 'panel', 'test', ${url} || '/' || uid, array['customers'], secret, ${engine.clock.now()}
    from unnest(${uids}::text[], ${secrets}::bytea[]) as made (uid, secret)`.execute(engine.db);
  await sql`
    insert into webhooks.ready (endpoint_uid, due_at, class)
    select uid, 'infinity', ${endpointClass}::smallint from unnest(${uids}::text[]) as uid order by uid`.execute(
    engine.db,
  );
  return uids;
};

/** Records an event for each of the endpoints of `addTried`. `number` differs between two calls. */
export const recordFor = async (engine: Engine, uids: readonly string[], number: number): Promise<void> => {
  const now = engine.clock.now();
  await sql`
    insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
    select platform.id_bound('evt', ${now}) || uid || ${number}::int, 'rst_' || uid, 'customers', 'customer.changed',
      'cus_' || uid || ${number}::int, 1, ${now}, '{"fresh":true}'
    from unnest(${uids}::text[]) as uid`.execute(engine.db);
};
