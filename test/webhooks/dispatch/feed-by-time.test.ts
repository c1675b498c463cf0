import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { placeAfter, placeBefore } from '#src/platform/db/outbox/event-feed.ts';
import { newId } from '#src/platform/ids.ts';
import { createRandom, randomSeed } from '../../support/random.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

const minuteMs = 60_000;
const tenants = ['rst_busy', 'rst_calm'];
const kinds = ['customers', 'orders'];

type Placed = { id: string; tenant: string; kind: string; recordedMs: number; place: number };

/**
 * Events of three days in the feed, each at most 4.5 minutes before or behind its turn, since transactions are committed in
 * another sequence than they begin. The second tenant and the second kind have few.
 */
const fillFeed = async ({ db }: Engine, count: number, next: () => number): Promise<Placed[]> => {
  const start = Date.now() - 3 * 24 * 60 * minuteMs;
  const events = Array.from({ length: count }, (_, index) => {
    const recordedMs = Math.round(start + index * 2 * minuteMs + (next() - 0.5) * 9 * minuteMs);
    const of = (all: readonly string[]): string => all[next() < 0.95 ? 0 : 1] as string;
    return { id: newId('evt', recordedMs), tenant: of(tenants), kind: of(kinds), recordedMs };
  });
  const { rows } = await sql<{ id: string; place: number }>`
    insert into outbox.places (event_id, tenant, kind, event, entity, created)
    select id, tenant, kind, 'customer.changed', 'cus_1', to_timestamp("recordedMs" / 1000.0)
    from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as (id text, tenant text, kind text, "recordedMs" double precision)
    returning event_id as id, place`.execute(db);
  const places = new Map(rows.map(({ id, place }) => [id, place]));
  return events.map((event) => ({ ...event, place: places.get(event.id) as number }));
};

type Search = { tenant: string; kinds: readonly string[]; those: readonly Placed[]; label: string };

/** Checks both ends of a span at a time; returns the events whose positions were found. */
const checkOf =
  ({ db }: Engine, { tenant, kinds: some, those, label }: Search) =>
  async (at: number): Promise<{ before: Placed | undefined; after: Placed | undefined }> => {
    const before = await placeBefore(db, { tenant, kinds: some }, new Date(at));
    const after = await placeAfter(db, { tenant, kinds: some }, new Date(at));
    const end = after ?? Number.POSITIVE_INFINITY;
    const since = those.filter(({ recordedMs }) => recordedMs >= at);
    expect(
      since.filter(({ place }) => place <= before),
      label,
    ).toEqual([]);
    const until = those.filter(({ recordedMs }) => recordedMs < at);
    expect(
      until.filter(({ place }) => place > end),
      label,
    ).toEqual([]);
    const early = until.filter(({ recordedMs, place }) => recordedMs < at - 20 * minuteMs && place > before);
    const late = since.filter(({ recordedMs, place }) => recordedMs >= at + 20 * minuteMs && place < end);
    expect(Math.max(early.length, late.length), label).toBeLessThan(256);
    return { before: those.find(({ place }) => place === before), after: those.find(({ place }) => place === after) };
  };

test('a search by time leaves out no event of the span, and skips few others, whatever the tenant and the kinds', async () => {
  const engine = await startEngine();
  try {
    const { seed, next } = createRandom(randomSeed());
    const feed = await fillFeed(engine, 2_000, next);
    const first = feed[0]?.recordedMs as number;
    const last = feed.at(-1)?.recordedMs as number;
    const times = Array.from({ length: 30 }, () => first + (last - first) * next());
    for (const tenant of tenants)
      for (const some of [kinds, ...kinds.map((kind) => [kind])]) {
        const those = feed.filter((event) => event.tenant === tenant && some.includes(event.kind));
        const check = checkOf(engine, { tenant, kinds: some, those, label: `TEST_SEED=${seed}` });
        for (const at of [first - 20 * minuteMs, ...times, last + 20 * minuteMs]) {
          const { before, after } = await check(at);
          // The times at which a search would find these events again if it left no room for late commits.
          if (before !== undefined) await check(before.recordedMs + 1);
          if (after !== undefined) await check(after.recordedMs);
        }
      }
    expect(await placeBefore(engine.db, { tenant: 'rst_none', kinds }, new Date(last))).toBe(0);
    expect(await placeAfter(engine.db, { tenant: 'rst_none', kinds }, new Date(first))).toBeUndefined();
  } finally {
    await engine.close();
  }
});
