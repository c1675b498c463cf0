/** The command that shows what clients and keys used against their limits. */
import type { Command } from 'commander';
import type { CallerUsage } from '#src/app/admin/admin.ts';
import { type Output, toLine, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type Options = { client?: string; key?: string; days: number; limit: number };

const whole =
  (name: string, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < 1 || value > max) throw new UsageError(`${name} is 1 to ${max}`);
    return value;
  };

const daysMax = 400;
const rowsMax = 10_000;

export const usageCommand = (program: Command, output: Output): void => {
  program
    .command('usage')
    .description('what clients and keys used by the day (UTC) against their limits; gateways write it every 5 s')
    .option('--client <id>', 'one client, with each day')
    .option('--key <id>', 'one key, with each day')
    .option('--days <days>', 'number of days, today included', whole('--days', daysMax), 30)
    .option('--limit <rows>', 'callers in the list, those with most units first', whole('--limit', rowsMax), 100)
    .action(async ({ client, key, days, limit }: Options, command: Command) => {
      if (client !== undefined && key !== undefined) throw new UsageError('Give either --client or --key');
      const id = client ?? key;
      if (id !== undefined) {
        const kind = client === undefined ? 'key' : 'client';
        const usage = await withAdmin(command, (admin) => admin.reportCallerUsage({ kind, id, days }));
        return showCaller(output, usage);
      }
      const rows = await withAdmin(command, (admin) => admin.reportUsage({ days, limit }));
      const shown = rows.map(({ elsewhere, ...row }) => toWire({ ...row, refusedElsewhere: elsewhere }));
      if (output.json) return output.result({ days, usage: shown });
      output.list('usage', shown, `No client and no key was used within ${days} days.`);
    });
};

const showCaller = (output: Output, { days, elsewhere, ...usage }: CallerUsage): void => {
  const shownDays = days.map(({ day, elsewhere: refusedElsewhere, ...counts }) =>
    toWire({ day: day.toISOString().slice(0, 10), ...counts, refusedElsewhere }),
  );
  const summary = toWire({ ...usage, refusedElsewhere: elsewhere });
  if (output.json) return output.result({ ...summary, days: shownDays });
  output.result(summary);
  for (const day of shownDays) if (Number(day.requests) + Number(day.limited) > 0) output.line(toLine(day));
};
