import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

const daysMax = 3_650;

export const auditUnusedScopesCommand = (group: Command, output: Output): void => {
  group
    .command('unused-scopes')
    .description('clients with unused scopes, with the command that removes these scopes')
    .option('--days <days>', 'used within this number of days', '30')
    .action(async (options: { days: string }, command: Command) => {
      const days = Number(options.days);
      if (!Number.isInteger(days) || days < 1 || days > daysMax) throw new UsageError(`--days is 1 to ${daysMax}`);
      const found = await withAdmin(command, (admin) => admin.reportUnusedScopes({ days }));
      const clients = found.map((client) => ({ ...client, command: commandOf(client) }));
      if (output.json) {
        const shown = clients.map(({ clientId, ...client }) => ({ client_id: clientId, ...client }));
        return output.result({ days, clients: shown });
      }
      if (clients.length === 0) {
        return output.line(`No enabled client has unused scopes, by its calls within ${days} days.`);
      }
      for (const client of clients) {
        const used = Object.entries(client.used).map(([scope, calls]) => `${scope} (${calls})`);
        output.line(
          `${client.clientId}  ${client.name}  ${client.calls} allowed calls since ${client.since.toISOString()}`,
        );
        output.line(`  used    ${used.join(', ') || 'none'}`);
        output.line(`  unused  ${client.unused.join(' ')}`);
        output.line(`  ${client.command}`);
      }
    });
};

/** A client must have a scope, so the proposal for a client that used none is quarantine, which can be undone. */
const commandOf = ({
  clientId,
  proposed,
  since,
}: {
  clientId: string;
  proposed: readonly string[];
  since: Date;
}): string =>
  proposed.length === 0
    ? `orderpass client quarantine --client-id ${clientId} --reason "no scope used since ${since.toISOString()}"`
    : `orderpass client scopes --client-id ${clientId} --scope "${proposed.join(' ')}"`;
