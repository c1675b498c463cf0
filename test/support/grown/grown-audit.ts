/** An audit with as many events as wanted, one a second, made by the database; they are not chained. */
import { createHash } from 'node:crypto';
import pg from 'pg';
import type { AskedFilter } from '#src/gateway/audit/search/issued-use.ts';
import { allowSilence } from '#src/platform/db/driver/pg-client.ts';
import type { Grown } from './grown-lists.ts';

type GrownAudit = Omit<Grown, 'clientId'> & {
  /** Where gateways run, one that none of them gets. Default: 7. */
  chain?: number;
};

/** Values are skewed as those of grown-lists.ts. */
export const growAudit = async (pool: pg.Pool, { restuid, rows, now, chain = 7 }: GrownAudit): Promise<void> => {
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
    const isMany = 'i > 10 and i % 10 = 2';
    await client.query(
      `insert into gateway.audit_events (chain, seq, at, action, outcome, reason, count, request_ids, ids_indexed,
         fingerprint, kind, credential_id, token_id, client_id, tenants, route_id, scopes, address, details, uses, use_keys, hash)
       select ${chain}, i, ${at},
         case when i in (6, 7) then 'token.issued' else
           ${skewed(`'request.allowed'`, `'request.denied'`, `'token.issued'`, `'key.created'`)} end,
         ${skewed(`'success'`, `'failure'`, `'success'`, `'success'`)}, null, 1,
         array[${skewed(`'till-most'`, `'till-tenth'`, `'till-most'`, `'till-rare'`)}], true,
         case when ${isMany} then null when i = 5 then md5('many')
           else ${skewed(`md5('most')`, `md5('tenth')`, `md5('most')`, `md5('rare')`)} end, 'api_key',
         case when i = 6 then 'ops_most' when i = 7 then 'ops_rare'
           else ${skewed(`'opk_most'`, `'opk_most'`, `'opk_tenth'`, `'opk_rare'`)} end,
         case when ${isMany} then null when i = 5 then 'jti_many'
           else ${skewed(`'jti_most'`, `'jti_tenth'`, `'jti_most'`, `'jti_rare'`)} end,
         ${skewed(`'opc_most'`, `'opc_most'`, `'opc_tenth'`, `'opc_rare'`)},
         array[${skewed(shop, shop, `'rst_tenth'`, `'rst_rare'`)}], ${skewed(`'orders.list'`, `'orders.get'`, `'orders.list'`, `'menu.import'`)},
         '{}', case when i in (14, 24, 34) then '198.51.100.8' else
           ${skewed(`'198.51.100.7'`, `'198.51.100.8'`, `'198.51.100.7'`, `'198.51.100.9'`)} end,
         case i when 6 then json_build_object('token_fingerprint', md5('most'))::text
           when 7 then json_build_object('token_fingerprint', md5('rare'))::text else '{}' end,
         case when ${isMany} then ';' || md5('many') || ' jti_many 1' end,
         case when ${isMany} then array[('x' || lpad(left(md5('many'), 12), 16, '0'))::bit(64)::bigint] end, ''
       from generate_series(1, ${rows}) i`,
    );
    await client.query('vacuum (analyze) gateway.audit_events');
  } finally {
    client.release(true);
  }
};

/** Values of each filter: one that most events have, one that a tenth has, and rare ones. */
const auditValues = ({ restuid, now }: Pick<Grown, 'restuid' | 'now'>) => {
  const time = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
  // A filter that is new has to stand here.
  return {
    client: ['opc_most', 'opc_tenth', 'opc_rare', 'opc_none'],
    credential: ['opk_most', 'opk_tenth', 'opk_rare', 'opk_none'],
    tenant: [restuid, 'rst_tenth', 'rst_rare', 'rst_none'],
    action: ['request.allowed', 'request.denied', 'key.created', 'key.revoked'],
    route: ['orders.list', 'orders.get', 'menu.import', 'none'],
    address: ['198.51.100.7', '198.51.100.8', '198.51.100.9', '::1'],
    fingerprint: [md5('most'), md5('many'), md5('rare'), md5('none')],
    tokenId: ['jti_most', 'jti_many', 'jti_rare', 'jti_none'],
    requestId: ['till-most', 'till-tenth', 'till-rare', 'till-none'],
    issuedFor: ['ops_most', 'ops_rare', 'ops_none'],
    outcome: ['success', 'failure'],
    // Each search is an event by the first of them.
    actor: ['cli:ada', 'panel:usr_none'],
    since: [time(3600), time(1e9)],
    until: [time(3600), time(1e9)],
  } satisfies { [Name in keyof Required<AskedFilter>]: readonly AskedFilter[Name][] };
};

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** Without a filter, each alone, and pairs of which each alone fits many or few. */
export const filtersOfAudit = (grown: Pick<Grown, 'restuid' | 'now'>): AskedFilter[] => {
  const asked: Readonly<Record<string, readonly unknown[]>> = auditValues(grown);
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
  return [{}, ...alone, ...pairs] as AskedFilter[];
};
