import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { allMigrations } from '#src/app/migrations.ts';
import { migrate } from '#src/platform/db/migrate.ts';
import { newId } from '#src/platform/ids.ts';
import { createEmptyDatabase } from '../../support/database.ts';

const day = 86_400_000;

test('a store from before keeps its events, deliveries and attempts when they come to be kept by week', async () => {
  const { db, pool, drop } = await createEmptyDatabase();
  const log = pino({ level: 'silent' });
  try {
    const isAfter = (feature: string, number: number): boolean =>
      (feature === 'platform' || feature === 'webhooks') && number >= 20;
    await migrate(
      pool,
      allMigrations.filter(({ feature, number }) => !isAfter(feature, number)),
      { log },
    );
    await sql`
      insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
      values ('rst_1', 'whe_1', 'panel', 'x', 'https://till.example/', array['customers'], ''::bytea, now())`.execute(
      db,
    );
    // One of this week, one of long before the weeks that are made.
    for (const [number, ageDays] of [0, 300].entries()) {
      const created = new Date(Date.now() - ageDays * day);
      const id = newId('evt', created.getTime());
      await sql`
        insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
        values (${id}, 'rst_1', 'customers', 'customer.changed', ${`cus_${number}`}, 1, ${created}, '{}')`.execute(db);
      await sql`
        insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
          next_attempt_at, created)
        values ('rst_1', ${`dlv_${number}`}, 'whe_1', ${id}, 'customer.changed', 'customers', ${`cus_${number}`}, 1,
          ${number}, '{"kept":true}', 'pending', now(), ${created})`.execute(db);
      await sql`
        insert into webhooks.attempts (tenant, uid, delivery_uid, number, started, total_ms)
        values ('rst_1', ${`att_${number}`}, ${`dlv_${number}`}, 1, ${created}, 7)`.execute(db);
    }
    const { rows: before } = await sql<{
      position: number;
    }>`select max(position) as position from outbox.events`.execute(db);

    await migrate(pool, allMigrations, { log });
    const { rows } = await sql`
      select event.entity, delivery.body, delivery.state, attempt.number, attempt.total_ms as "totalMs"
      from outbox.events as event join webhooks.deliveries as delivery on event_id = id
      join webhooks.attempts as attempt on delivery_uid = delivery.uid and attempt.event_id = delivery.event_id
      order by event.entity`.execute(db);
    const kept = { body: '{"kept":true}', state: 'pending', number: 1, totalMs: 7 };
    expect(rows).toEqual([
      { entity: 'cus_0', ...kept },
      { entity: 'cus_1', ...kept },
    ]);
    // What is due is found by the engine, and positions go on where they were.
    const { rows: ready } = await sql`select endpoint_uid from webhooks.ready where due_at <= now()`.execute(db);
    expect(ready).toEqual([{ endpoint_uid: 'whe_1' }]);
    const { rows: next } = await sql<{ position: number }>`
      insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
      values (${newId('evt')}, 'rst_1', 'customers', 'customer.changed', 'cus_2', 1, now(), '{}') returning position`.execute(
      db,
    );
    expect(next[0]?.position).toBeGreaterThan(before[0]?.position ?? 0);
    const { rows: stray } = await sql<{ count: number }>`select count(*) as count from outbox.events_default`.execute(
      db,
    );
    expect(stray[0]?.count).toBe(1);
  } finally {
    await drop();
  }
});
