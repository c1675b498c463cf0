import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const migrateCommand = (program: Command, output: Output): void => {
  program
    .command('migrate')
    .description('apply the pending migrations to the database (every start does so too)')
    .action(async (_options: unknown, command: Command) => {
      // Opening the installation applies the migrations, under a lock that admits one process at a time.
      const migrations = await withAdmin(command, (admin) => admin.countMigrations());
      output.result({ migrations, up_to_date: true });
    });
};
