/** The statements of order/create as the core sends them, and the same as scripts for pgbench. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createOrdering } from '#src/ordering/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createLog } from '#src/platform/log.ts';
import type { Shops } from './order-shops.ts';

type Statement = { text: string; values: readonly unknown[] };

/** Of each customer two orders: what differs between them is not the customer's. */
export type RecordedOrders = [Statement[], Statement[]][];

export const recordOrders = async ({ connection, clientId, restaurants }: Shops): Promise<RecordedOrders> => {
  const log = createLog({ level: 'silent', role: 'bench' });
  const pool = createPool({ connection, applicationName: 'bench', max: 1 }, log);
  const db = createDatabase(pool);
  const clock = systemClock;
  const { operations } = createOrdering({
    db,
    cursorKey: randomBytes(32),
    orderTokenKey: randomBytes(32),
    clock,
    log,
    settings: {},
  });
  const create = operations.find(({ path }) => path === '/order/create');
  if (create === undefined) throw new Error('there is no order/create');
  const caller = { kind: 'api_client' as const, id: clientId, tenants: [], tenants_disabled: [], scopes: [] };
  const place = (restuid: string, body: string): Promise<Statement[]> =>
    statementsOf(() =>
      inTransaction(db, async (tx) => {
        const params = create.params.parse(JSON.parse(body));
        const { signal } = new AbortController();
        await create.handle({
          params,
          caller,
          restuid,
          requestId: 'req_bench',
          now: clock.now(),
          readNow: clock.now,
          db: tx,
          signal,
        });
      }),
    );
  try {
    const orders: RecordedOrders = [];
    for (const { restuid, bodies } of restaurants)
      for (const body of bodies) orders.push([await place(restuid, body), await place(restuid, body)]);
    return orders;
  } finally {
    await pool.end();
  }
};

/** What goes to the database meanwhile, begin and commit too. */
const statementsOf = async (act: () => Promise<unknown>): Promise<Statement[]> => {
  const statements: Statement[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function watched(this: pg.Client, ...args: unknown[]): unknown {
    const [asked, values] = args as [string | (Statement & { values?: unknown[] }), unknown[] | undefined];
    statements.push(
      typeof asked === 'string'
        ? { text: asked, values: values ?? [] }
        : { text: asked.text, values: asked.values ?? values ?? [] },
    );
    return Reflect.apply(query, this, args);
  } as typeof query;
  try {
    await act();
  } finally {
    pg.Client.prototype.query = query;
  }
  return statements;
};

/**
 * Values that are new with each order (ids, tokens, the number) become random numbers, the others variables with the value
 * of the record; what has no value stays one in the text, since pgbench has no such variable.
 */
export const pgbenchScript = (recorded: RecordedOrders): { variables: string[]; scripts: string[] } => {
  const variables: string[] = [];
  const known = new Map<string, string>();
  const variableOf = (value: string): string => {
    const name = known.get(value) ?? `v${known.size}`;
    if (!known.has(value)) variables.push(`${name}=${value}`);
    known.set(value, name);
    return name;
  };
  const scripts = recorded.map(([first, second]) => {
    const fresh = new Map<string, string>();
    const freshOf = (value: string): string => {
      const name = fresh.get(value) ?? `fresh${fresh.size}`;
      fresh.set(value, name);
      return name;
    };
    const lines = first.map(({ text, values }, index) => {
      const later = second[index];
      if (later?.text !== text)
        throw new Error(`two orders of one customer sent different statements: ${text} / ${later?.text}`);
      const named = values.map((value, place) => {
        if (value === null) return null;
        // pgbench refuses a variable without a value.
        if (wireText(value) === '') return "''";
        const isFresh = isNew(value, later.values[place]);
        return `:${isFresh ? freshOf(String(value)) : variableOf(wireText(value))}`;
      });
      const sent = text.replaceAll(/\$(\d+)/g, (_all, place: string) => named[Number(place) - 1] ?? 'null');
      return `${sent.replaceAll(/\s+/g, ' ').trim()};`;
    });
    const randoms = [...fresh].map(
      ([value, name]) => `\\set ${name} random(1000000, ${/^\d+$/.test(value) ? '2000000000' : '9000000000000000000'})`,
    );
    return `${[...randoms, ...lines].join('\n')}\n`;
  });
  return { variables, scripts };
};

/** A parameter as text, as the driver would send it. */
const wireText = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map((each) => JSON.stringify(each)).join(',')}}`;
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
};

/** Ids, tokens and running numbers. Times differ as well, and documents hold them, but they need not. */
const isNew = (value: unknown, later: unknown): boolean =>
  (typeof value === 'string' || typeof value === 'number') && value !== later && String(value).length < 100;
