/** An audit with as many events as wanted, one a second, made by the database; they are not chained. */
import pg from 'pg';
import type { EventFilter } from '#src/gateway/audit/audit-store.ts';
import { allowSilence } from '#src/platform/db/pool.ts';
import type { Grown } from './grown-lists.ts';

const chain = 7;

/** Values are skewed as those of grown-lists.ts. */
export const growAudit = async (pool: pg.Pool, { restuid, rows, now }: Grown): Promise<void> => {
  const client = await pool.connect();
  try {
    allowSilence(client);
    const [shop, at] = [
      pg.escapeLiteral(restuid),
      `(${pg.escapeLiteral(now.toISOString())}::timestamptz - make_interval(secs => ${rows} - i))`,
    ];
    const skewed = (most: string, tenth: string, otherTenth: string, rare: string): string =>
      `case when i <= 3 then ${rare} when i % 10 = 0 then ${tenth} when i % 10 = 1 then ${otherTenth} else ${most} end`;
    await client.query('set statement_timeout = 0');
    await client.query(`select gateway.audit_partition(${at}) from generate_series(1, ${rows} + 86400, 86400) i`);
    await client.query(`select gateway.audit_partition(${pg.escapeLiteral(now.toISOString())}::timestamptz)`);
    await client.query(
      `insert into gateway.audit_events (chain, seq, at, action, outcome, reason, count, request_ids, ids_indexed,
         fingerprint, kind, credential_id, client_id, tenants, route_id, scopes, address, details, hash)
       select ${chain}, i, ${at}, ${skewed(`'request.allowed'`, `'request.denied'`, `'token.issued'`, `'key.created'`)},
         ${skewed(`'success'`, `'failure'`, `'success'`, `'success'`)}, null, 1, '{}', false,
         ${skewed(`md5('most')`, `md5('tenth')`, `md5('most')`, `md5('rare')`)}, 'api_key',
         ${skewed(`'opk_most'`, `'opk_most'`, `'opk_tenth'`, `'opk_rare'`)},
         ${skewed(`'opc_most'`, `'opc_most'`, `'opc_tenth'`, `'opc_rare'`)},
         array[${skewed(shop, shop, `'rst_tenth'`, `'rst_rare'`)}], ${skewed(`'orders.list'`, `'orders.get'`, `'orders.list'`, `'menu.import'`)},
         '{}', ${skewed(`'198.51.100.7'`, `'198.51.100.8'`, `'198.51.100.7'`, `'198.51.100.9'`)}, '{}', ''
       from generate_series(1, ${rows}) i`,
    );
    await client.query('vacuum (analyze) gateway.audit_events');
  } finally {
    client.release(true);
  }
};

/** Without a filter, each alone, and pairs of which each alone fits many or few. */
export const askedOfAudit = ({ restuid, now }: Grown): EventFilter[] => {
  const time = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
  const asked: Record<string, readonly unknown[]> = {
    client: ['opc_most', 'opc_tenth', 'opc_rare', 'opc_none'],
    credential: ['opk_most', 'opk_tenth', 'opk_rare', 'opk_none'],
    tenant: [restuid, 'rst_tenth', 'rst_rare', 'rst_none'],
    action: ['request.allowed', 'request.denied', 'key.created', 'key.revoked'],
    route: ['orders.list', 'orders.get', 'menu.import', 'none'],
    address: ['198.51.100.7', '198.51.100.8', '198.51.100.9', '::1'],
    outcome: ['success', 'failure'],
    since: [time(3600), time(1e9)],
    until: [time(3600), time(1e9)],
  };
  const names = Object.keys(asked);
  const alone = names.flatMap((name) => (asked[name] ?? []).map((value) => ({ [name]: value })));
  const pairs = names.flatMap((a, i) =>
    names.slice(i + 1).flatMap((b) =>
      [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [0, 2],
      ].flatMap(([x = 0, y = 0]) => {
        const [first, second] = [asked[a]?.[x], asked[b]?.[y]];
        return first === undefined || second === undefined ? [] : [{ [a]: first, [b]: second }];
      }),
    ),
  );
  return [{}, ...alone, ...pairs] as EventFilter[];
};
