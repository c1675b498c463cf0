/** The command that shows what a client or key called: to its holder by the server of a login, to the operator from the store. */
import type { Command } from 'commander';
import { requestStatuses } from '#src/app/admin/terms.ts';
import { askServer } from '#src/app/remote/ask-server.ts';
import { type Output, toLine, UsageError } from '../../terminal/output.ts';
import { toTime } from '../../terminal/to-time.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { remoteServer } from '../remote/remote-server.ts';

type Options = {
  url?: string;
  clientId?: string;
  key?: string;
  status?: string;
  route?: string;
  code?: string;
  requestId?: string;
  restaurant?: string;
  since?: string;
  until?: string;
  hours?: boolean;
  limit: string;
  cursor?: string;
};

const limitMax = 1_000;
/** The most that a server answers at once (interface 7). */
const pageMax = 100;

export const requestsCommand = (program: Command, output: Output): void => {
  program
    .command('requests')
    .description('requests of a client or key that were refused or failed, and its writes, newest first')
    .option('--url <url>', 'your own, at this server; without an id they are those of the last login')
    .option('--client-id <id>', 'of this client of this installation')
    .option('--key <id>', 'of this API key and those that it replaced')
    .option('--status <class>', `only this class of status: ${requestStatuses.join(', ')}`)
    .option('--route <id>', 'only this operation, e.g. order.create')
    .option('--code <code>', 'only this error code')
    .option('--request-id <id>', 'only this X-Request-Id')
    .option('--restaurant <restuid>', 'only for this restaurant')
    .option('--since <time>', 'from this time on, e.g. 2026-05-01T10:00:00Z')
    .option('--until <time>', 'before this time')
    .option('--hours', 'counts by hour and operation instead, successful reads included; only with --route')
    .option('--limit <n>', `rows to show, up to ${limitMax}`, '50')
    .option('--cursor <cursor>', 'the page after the one that returned this cursor')
    .action(async (options: Options, command: Command) => {
      const paging = { pagesize: limitOf(options.limit), cursor: options.cursor };
      const filter = filterOf(options);
      if (options.url !== undefined && !isOwn(options))
        throw new UsageError('--url shows your own requests: leave out --client-id and --key');
      if (isOwn(options)) return showOwn(options, paging, output);
      const caller = callerOf(options);
      const listed = await withAdmin(command, async (admin) =>
        options.hours === true
          ? { name: 'hours', ...(await admin.listRequestHours(caller, { route: options.route }, paging)) }
          : { name: 'requests', ...(await admin.listRequests(caller, filter, paging)) },
      );
      show(output, listed);
    });
};

const isOwn = ({ clientId, key }: Options): boolean => clientId === undefined && key === undefined;

/** The server checks the filters again. */
const showOwn = async (options: Options, paging: { pagesize: number; cursor: string | undefined }, output: Output) => {
  const { hours, status, route, code, requestId, restaurant, since, until } = options;
  const server = remoteServer(options.url);
  const filter = { status, route, code, request_id: requestId, restuid: restaurant, since, until };
  const name = hours === true ? 'hours' : 'requests';
  const rows: Readonly<Record<string, unknown>>[] = [];
  let next = paging.cursor ?? null;
  do {
    const page = { pagesize: Math.min(paging.pagesize - rows.length, pageMax), cursor: next ?? undefined };
    const { payload } =
      hours === true
        ? await askServer(server, '/whoami/usage', { route, ...page })
        : await askServer(server, '/whoami/requests', { ...filter, ...page });
    rows.push(...(payload[name] as typeof rows));
    next = typeof payload.next_cursor === 'string' ? payload.next_cursor : null;
  } while (next !== null && rows.length < paging.pagesize);
  if (output.json) return output.result({ [name]: rows, next_cursor: next });
  output.list(name, rows, 'Nothing matches.');
  if (next !== null) output.line(`\nThe next page: --cursor ${next}`);
};

type Rows = { name: string; items: readonly object[]; next: string | null };

const show = (output: Output, { name, items, next }: Rows): void => {
  const rows = items.map((item) => toWire({ ...item }));
  if (output.json) return output.result({ [name]: rows, next_cursor: next });
  for (const row of rows) output.line(toLine(row));
  if (rows.length === 0) output.line(next === null ? 'Nothing matches.' : 'Nothing matches so far.');
  if (next !== null) output.line(`\nThe next page: --cursor ${next}`);
};

const callerOf = ({ clientId, key }: Options): { kind: 'client' | 'key'; id: string } => {
  if (clientId !== undefined && key === undefined) return { kind: 'client', id: clientId };
  if (key !== undefined && clientId === undefined) return { kind: 'key', id: key };
  throw new UsageError('Give --client-id or --key, not both');
};

const filterOf = (options: Options) => {
  const { hours, status, route, code, requestId, restaurant: tenant } = options;
  const since = toTime('--since', options.since);
  const until = toTime('--until', options.until);
  const filter = { status: statusOf(status), code, requestId, tenant, since, until };
  if (hours === true && Object.values(filter).some((value) => value !== undefined))
    throw new UsageError('--hours takes no other filter than --route');
  return { ...filter, route };
};

const statusOf = (text: string | undefined): (typeof requestStatuses)[number] | undefined => {
  const known = requestStatuses.find((one) => one === text);
  if (text !== undefined && known === undefined) throw new UsageError(`--status is ${requestStatuses.join(', ')}`);
  return known;
};

const limitOf = (text: string): number => {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax) throw new UsageError(`--limit is 1 to ${limitMax}`);
  return limit;
};
