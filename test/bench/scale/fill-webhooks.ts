/**
 * One endpoint of each restaurant, that of the first one made by the program, and deliveries that wait: of five, two behind
 * an earlier one of their customer, three for their next attempt tomorrow. A tenth of them belongs to the first
 * restaurant. Their events are of the last three weeks. The endpoints have the sealed secret of the first one, which only
 * that one can open; nothing is sent to the others.
 */
import pg from 'pg';
import { columnsOf, otherUid } from './fill.ts';
import type { Size } from './size.ts';

type First = { restuid: string; endpointUid: string };

const weeksSeconds = 21 * 86_400;

export const fillWebhooks = async (
  client: pg.PoolClient,
  { restuid, endpointUid }: First,
  { restaurants, deliveries }: Size,
): Promise<void> => {
  const [shop, endpoint] = [pg.escapeLiteral(restuid), pg.escapeLiteral(endpointUid)];
  const endpointOf = (number: string): string => `'whe_' || to_char(${number}, 'FM000000000')`;
  for (const table of ['webhooks.endpoints', 'webhooks.endpoint_health'] as const) {
    const key = table === 'webhooks.endpoints' ? 'uid' : 'endpoint_uid';
    const columns = await columnsOf(client, table);
    const value = (name: string): string =>
      name === key ? endpointOf('number') : name === 'tenant' ? otherUid('number') : name;
    await client.query(
      `insert into ${table} (${columns.join(', ')}) select ${columns.map(value).join(', ')}
       from ${table}, generate_series(1, ${restaurants - 1}) as number where ${key} = ${endpoint}`,
    );
  }
  // Five in turn are those of one customer: two pairs, of which the second waits for the first, and one alone.
  await client.query(
    `create temporary table waited as
     select i, case when group_number % 10 = 0 then ${shop} else ${otherUid('other')} end as tenant,
       case when group_number % 10 = 0 then ${endpoint} else ${endpointOf('other')} end as endpoint_uid,
       platform.id_bound('evt', at) || lpad(i::text, 16, '0') as event_id,
       platform.id_bound('dlv', at) || lpad(i::text, 16, '0') as uid,
       'cus_' || to_char(case when group_number % 10 = 0 then group_number / 10 else group_number / ${restaurants - 1} end * 3
         + i % 5 / 2 + 1, 'FM000000000') as entity,
       case when i % 5 in (1, 3) then 2 else 1 end as seq, i % 5 in (1, 3) as is_behind, at
     from generate_series(0, ${deliveries - 1}) as i
     cross join lateral (select i / 5 as group_number, i / 5 % ${restaurants - 1} + 1 as other,
       date_trunc('milliseconds', now() - make_interval(secs => ${weeksSeconds} * (1 - i::float8 / ${deliveries}))) as at) as place`,
  );
  await client.query(
    `insert into outbox.events (position, id, tenant, kind, event, entity, seq, previous_seq, created, body, queued)
       select nextval('outbox.event_positions'), event_id, tenant, 'customers', 'customer.changed', entity, seq,
         case when seq = 2 then 1 end, at, repeat('x', 700), true from waited order by i;
     insert into outbox.places (event_id, tenant, kind, event, entity, created)
       select event_id, tenant, 'customers', 'customer.changed', entity, at from waited order by i;
     insert into outbox.heads (tenant, kind, entity, last_seq)
       select tenant, 'customers', entity, max(seq) from waited group by tenant, entity;
     insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
         attempts_count, next_attempt_at, created)
       select waited.tenant, waited.uid, endpoint_uid, event_id, 'customer.changed', 'customers', waited.entity, waited.seq,
         events.position, case when is_behind then 'waiting' else 'pending' end, case when is_behind then 0 else 1 end,
         case when is_behind then null else now() + interval '1 day' end, at
       from waited join outbox.events on id = event_id order by i;
     insert into webhooks.attempts (tenant, uid, delivery_uid, number, started, address, total_ms, status, event_id)
       select tenant, 'att' || substr(uid, 4), uid, 1, at, '198.51.100.7', 20, 500, event_id from waited where not is_behind;
     insert into webhooks.ready (endpoint_uid, due_at)
       select endpoint_uid, now() + interval '1 day' from waited group by endpoint_uid on conflict do nothing;
     drop table waited`,
  );
};
