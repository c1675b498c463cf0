import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

const daysMax = 3_650;

export const policyCommands = (program: Command, output: Output): void => {
  const group = program.command('policy').description('requirements of the route table');
  group
    .command('report')
    .description('callers that would be refused if scopes on trial (dryRun) were required')
    .option('--days <days>', 'seen within this number of days', '30')
    .action(async (options: { days: string }, command: Command) => {
      const days = Number(options.days);
      if (!Number.isInteger(days) || days < 1 || days > daysMax) throw new UsageError(`--days is 1 to ${daysMax}`);
      const { dryRuns, more } = await withAdmin(command, (admin) => admin.reportDryRuns({ days }));
      if (output.json) return output.result({ days, would_break: dryRuns.map(toWire), more });
      if (dryRuns.length === 0 && !more) return output.line(`No caller seen within ${days} days would be refused.`);
      for (const { route, caller, missingScopes, calls, lastSeen } of dryRuns) {
        output.line(
          `${caller}  ${route}  misses ${missingScopes.join(' ')}  ${calls} calls, last ${lastSeen.toISOString()}`,
        );
      }
      if (more) output.line(`There are more than these ${dryRuns.length}: ask for fewer days, or see the panel.`);
    });
};
