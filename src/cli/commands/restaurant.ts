import type { Command } from 'commander';
import type { Output } from '../output.ts';
import { withAdmin } from '../with-admin.ts';

type CreateOptions = { name: string; timeZone?: string; currency?: string };

export const restaurantCommands = (program: Command, output: Output): void => {
  const group = program.command('restaurant').description('restaurants');
  group
    .command('create')
    .description('create a restaurant with one location')
    .requiredOption('--name <name>', 'name that guests see')
    .option('--time-zone <zone>', 'IANA zone, such as Europe/Rome (default UTC)')
    .option('--currency <code>', 'ISO 4217 code (default EUR)')
    .action(async (options: CreateOptions, command: Command) => {
      const { name, timeZone, currency } = options;
      const made = await withAdmin(command, (admin) =>
        admin.createRestaurant({
          name,
          ...(timeZone === undefined ? undefined : { timeZone }),
          ...(currency === undefined ? undefined : { currency }),
        }),
      );
      output.result(made);
    });
};
