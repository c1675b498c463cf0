import type { Command } from 'commander';
import { searchLimitMax } from '#src/app/admin/admin.ts';
import { type Output, toLine, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type Options = {
  fingerprint?: string;
  client?: string;
  restaurant?: string;
  decision?: string;
  action?: string;
  route?: string;
  address?: string;
  requestId?: string;
  tokenId?: string;
  issuedFor?: string;
  since?: string;
  until?: string;
  limit: string;
  before?: string;
};

export const auditSearchCommand = (group: Command, output: Output): void => {
  group
    .command('search')
    .description('events of the audit, newest first; the search itself is recorded as an event')
    .option('--fingerprint <hex>', 'fingerprint of the presented credential (`audit who` shows it)')
    .option('--client <id>', 'API client')
    .option('--restaurant <restuid>', 'restaurant')
    .option('--decision <decision>', 'allow or deny')
    .option('--action <name>', 'name of the event, e.g. token.issued, request.denied, secret.retired')
    .option('--route <id>', 'route of the route table, e.g. orders.list')
    .option('--address <ip>', 'source address')
    .option('--request-id <id>', 'X-Request-Id of the answer')
    .option('--token-id <jti>', 'jti of an access token')
    .option('--issued-for <id>', 'use of the tokens that were issued for this client secret')
    .option('--since <time>', 'from this time on, e.g. 2026-05-01T10:00:00Z')
    .option('--until <time>', 'before this time')
    .option('--limit <n>', `events to show, up to ${searchLimitMax}`, '50')
    .option('--before <cursor>', 'the page after the one that returned this cursor')
    .action(async (options: Options, command: Command) => {
      const search = { filter: filterOf(options), before: options.before, limit: limitOf(options.limit) };
      const found = await withAdmin(command, (admin) => admin.searchAudit(search));
      if (output.json) return output.result({ ...found });
      if (found.events.length === 0 && found.next_cursor === null)
        return output.line(options.before === undefined ? 'No event matches.' : 'No older event matches.');
      for (const event of found.events) output.line(toReadable(event));
      if (found.next_cursor === null) return;
      if (found.searched_to === null) return output.line(`\nOlder events: --before ${found.next_cursor}`);
      const soFar = found.events.length === 0 ? 'No event found so far' : 'There may be more';
      output.line(`${soFar}: this search looked back to ${found.searched_to} and stopped there.`);
      output.line(`Look further back: --before ${found.next_cursor}`);
    });
};

const filterOf = (options: Options) => ({
  fingerprint: options.fingerprint,
  client: options.client,
  tenant: options.restaurant,
  outcome: outcomeOf(options.decision),
  action: options.action,
  route: options.route,
  address: options.address,
  requestId: options.requestId,
  tokenId: options.tokenId,
  issuedFor: options.issuedFor,
  since: timeOf('--since', options.since),
  until: timeOf('--until', options.until),
});

const outcomeOf = (decision: string | undefined): 'success' | 'failure' | undefined => {
  if (decision === undefined) return undefined;
  if (decision === 'allow') return 'success';
  if (decision === 'deny') return 'failure';
  throw new UsageError('--decision is allow or deny');
};

const timeOf = (name: string, text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError(`${name} is a time like 2026-05-01T10:00:00Z`);
  return time;
};

const limitOf = (text: string): number => {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > searchLimitMax) {
    throw new UsageError(`--limit is 1 to ${searchLimitMax}`);
  }
  return limit;
};

const shownIds = 3;

/** The most useful members of an event; `--json` prints all. */
const toReadable = (event: Record<string, unknown>): string => {
  const ids = event['http.request.id'] as string[];
  const details = JSON.stringify(event['orderpass.details']);
  return toLine({
    time: `${String(event['@timestamp'])}  ${String(event['event.action'])}`,
    id: event['event.id'],
    reason: event['event.reason'],
    client: event['orderpass.client.id'],
    credential: event['orderpass.credential.id'],
    token: event['orderpass.token.id'],
    restaurant: textOf(event['orderpass.tenants']),
    route: event['orderpass.route.id'],
    scopes: textOf(event['orderpass.scopes']),
    calls: event['orderpass.count'] === 1 ? null : event['orderpass.count'],
    request: ids.length > shownIds ? `${ids.slice(0, shownIds).join(',')},…` : ids.join(','),
    address: event['source.ip'],
    actor: event['user.name'],
    fingerprint: event['orderpass.credential.fingerprint'],
    details: details === '{}' ? null : details,
  });
};

const textOf = (list: unknown): string => (list as string[]).join(',');
