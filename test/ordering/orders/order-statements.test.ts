import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { outboxChannel } from '#src/platform/db/outbox/outbox.ts';
import { openNotifications } from '../../support/database.ts';
import { startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;
let shop: Shop;

beforeAll(async () => {
  core = await startOrdering();
  shop = await openShop(core, { pointValue: 0.1 });
  await shop.placed();
});
afterAll(() => core.close());

type Sent = { text: string; connection: unknown };

const textOf = (asked: unknown): string =>
  typeof asked === 'string' ? asked : String((asked as { text: string }).text);

const isHint = (text: string): boolean => text.includes('pg_notify');

/** What goes to the database meanwhile, begin and commit too. Watches the driver and changes nothing of it. */
const sentOf = async (act: () => Promise<unknown>): Promise<Sent[]> => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await act();
    return query.mock.calls.map(([asked]: unknown[], index) => ({
      text: textOf(asked),
      connection: query.mock.contexts[index],
    }));
  } finally {
    query.mockRestore();
  }
};

/** Without hints, which leave at any time after the commit. */
const statementsOf = async (act: () => Promise<unknown>): Promise<string[]> =>
  (await sentOf(act)).map(({ text }) => text).filter((text) => !isHint(text));

/** How often meanwhile something was sent when everything before it had been answered. */
const roundTripsOf = async (act: () => Promise<unknown>): Promise<number> => {
  const { query } = pg.Client.prototype;
  let [roundTrips, unanswered] = [0, 0];
  const watched = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args) {
    if (isHint(textOf(args[0]))) return Reflect.apply(query, this, args) as undefined;
    if (unanswered === 0) roundTrips += 1;
    unanswered += 1;
    const answered = (): void => {
      unanswered -= 1;
    };
    const result: unknown = Reflect.apply(query, this, args);
    (result as Promise<unknown>).then(answered, answered);
    return result as undefined;
  });
  try {
    await act();
    return roundTrips;
  } finally {
    watched.mockRestore();
  }
};

test('an order of a known customer takes 9 statements in 3 round trips, however many lines it has', async () => {
  const statements = await statementsOf(() => shop.placed());
  expect([statements[0], statements.at(-1)]).toEqual(['start transaction isolation level read committed', 'commit']);
  expect(statements.length).toBeLessThanOrEqual(9);
  expect(await roundTripsOf(() => shop.placed())).toBe(3);
  const details = Array.from({ length: 200 }, (_, i) => shop.line(i % 2 === 0 ? 'P1' : 'P5'));
  expect(await statementsOf(() => shop.placed({ details }))).toEqual(statements);
});

test('orders of one restaurant wait for one answer, the number; their writes go out with the commit', async () => {
  const statements = await statementsOf(() => shop.placed());
  const counter = statements.findIndex((statement) => statement.includes('ordering.counters'));
  // The order, and both of its events.
  expect(
    statements.slice(counter + 1).map((statement) => statement.match(/ordering\.\w+|outbox\.\w+|commit/)?.[0]),
  ).toEqual(['ordering.orders', 'outbox.heads', 'commit']);
});

test('a move takes as many round trips in a long history as in a short one', async () => {
  const cancel = async (): Promise<string[]> => {
    const order = await shop.placed();
    return statementsOf(() => shop.done('cancel', order));
  };
  const early = await cancel();
  for (let i = 0; i < 20; i += 1) await shop.placed();
  expect(await cancel()).toEqual(early);
  const order = await shop.placed();
  expect((await statementsOf(() => shop.done('confirm', order))).length).toBeLessThanOrEqual(7);
});

test('the hint of an order leaves alone after its commit, so orders do not wait for the lock of a notification', async () => {
  const notifications = await openNotifications(core.databaseUrl, [outboxChannel]);
  try {
    const sent = await sentOf(async () => {
      await Promise.all([shop.placed(), shop.placed(), shop.placed()]);
      await until(() => notifications.received.length > 0);
    });
    const open = new Set<unknown>();
    const inside: string[] = [];
    for (const { text, connection } of sent) {
      if (text === 'begin') open.add(connection);
      if (text === 'commit' || text === 'rollback') open.delete(connection);
      if (isHint(text) && open.has(connection)) inside.push(text);
    }
    expect(sent.filter(({ text }) => text === 'commit')).toHaveLength(3);
    expect(sent.filter(({ text }) => isHint(text)).length).toBeGreaterThan(0);
    expect(inside).toEqual([]);
  } finally {
    await notifications.close();
  }
});
