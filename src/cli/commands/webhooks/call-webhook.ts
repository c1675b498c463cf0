/**
 * What the commands on endpoints, deliveries and events share: the call of an operation and how its answer is printed.
 */
import type { Command } from 'commander';
import type { Admin } from '#src/app/admin/admin.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export type Item = Readonly<Record<string, unknown>>;

type Webhooks = Awaited<ReturnType<Admin['webhooksOf']>>;

/** Calls an operation with options as parameters; options that were not given are left out. */
export const callWebhook = <A>(
  command: Command,
  restuid: string,
  call: (webhooks: Webhooks) => Promise<A>,
): Promise<A> => withAdmin(command, async (admin) => call(await admin.webhooksOf(restuid)));

/** Declares a command on one endpoint. */
export const onEndpoint = (group: Command, name: string, description: string): Command =>
  group
    .command(name)
    .description(description)
    .requiredOption('--restaurant <restuid>', 'restaurant of the endpoint')
    .requiredOption('--endpoint <uid>', 'the endpoint (`webhook list` lists them)');

export const pageNote = ({ more, next_cursor: cursor, total_count: total }: Item): string =>
  `${total === null ? 'too many to count' : `${String(total)} in all`}${more === true ? `; more: --cursor ${String(cursor)}` : ''}`;

/** The time of the next attempt, or text when it has none yet; null when no attempt is left. */
export const nextTry = ({ next_attempt, next_attempt_iso }: Item): unknown => {
  if (next_attempt === 'due') return 'due now';
  return next_attempt === 'behind' ? 'after the earlier event' : next_attempt_iso;
};
