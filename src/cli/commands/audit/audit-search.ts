import type { Command } from 'commander';
import { type FoundEvent, searchLimitMax, toEcs } from '#src/app/admin/terms.ts';
import { type Output, toLine, UsageError } from '../../terminal/output.ts';
import { toTime } from '../../terminal/to-time.ts';
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
    .option('--address <ip>', 'source address, or a /64 network of IPv6')
    .option('--request-id <id>', 'X-Request-Id of the answer')
    .option('--token-id <jti>', 'jti of an access token')
    .option('--issued-for <id>', 'use of the tokens that were issued for this client secret')
    .option('--since <time>', 'from this time on, e.g. 2026-05-01T10:00:00Z')
    .option('--until <time>', 'before this time')
    .option('--limit <n>', `events to show, up to ${searchLimitMax}`, '50')
    .option('--before <cursor>', 'the page after the one that returned this cursor')
    .action(async (options: Options, command: Command) => {
      const search = { filter: filterOf(options), before: options.before, limit: limitOf(options.limit) };
      const { found, isKnown } = await withAdmin(command, async (admin) => ({
        found: await admin.searchAudit(search),
        isKnown: options.client === undefined || (await admin.clientsNamed(options.client)).length > 0,
      }));
      const searchedTo = found.searchedTo?.toISOString() ?? null;
      if (output.json) {
        const events = found.events.map(toEcs);
        return output.result({ events, next_cursor: found.next ?? null, searched_to: searchedTo });
      }
      if (found.events.length === 0 && found.next === undefined)
        return output.line(
          `${options.before === undefined ? 'No event matches.' : 'No older event matches.'}${isKnown ? '' : ` No client has the id or the name ${options.client}.`}`,
        );
      for (const event of found.events) output.line(toReadable(event));
      if (found.next === undefined) return;
      if (searchedTo === null) return output.line(`\nOlder events: --before ${found.next}`);
      const soFar = found.events.length === 0 ? 'No event found so far' : 'There may be more';
      output.line(`${soFar}: this search looked back to ${searchedTo} and stopped there.`);
      output.line(`Look further back: --before ${found.next}`);
    });
};

const filterOf = (options: Options) => ({
  ...spanOf(toTime('--since', options.since), toTime('--until', options.until)),
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
});

const spanOf = (since: Date | undefined, until: Date | undefined) => {
  // Otherwise the answer to a typing error would be that no event matches.
  if (since !== undefined && until !== undefined && until <= since)
    throw new UsageError('--until must be after --since');
  return { since, until };
};

const outcomeOf = (decision: string | undefined): 'success' | 'failure' | undefined => {
  if (decision === undefined) return undefined;
  if (decision === 'allow') return 'success';
  if (decision === 'deny') return 'failure';
  throw new UsageError('--decision is allow or deny');
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
const toReadable = (event: FoundEvent): string => {
  const details = JSON.stringify(event.details);
  const ids = event.requestIds;
  return toLine({
    time: `${event.at.toISOString()}  ${event.action}`,
    id: event.id,
    reason: event.reason,
    signed: event.signed === false ? 'no, so it may be forged' : null,
    client: event.clientId,
    credential: event.credentialId,
    token: event.tokenId,
    restaurant: event.tenants.join(','),
    route: event.routeId,
    scopes: event.scopes.join(','),
    calls: event.count === 1 ? null : event.count,
    request: ids.length > shownIds ? `${ids.slice(0, shownIds).join(',')},…` : ids.join(','),
    address: event.address,
    actor: event.actor,
    fingerprint: event.fingerprint,
    details: details === '{}' ? null : details,
  });
};
