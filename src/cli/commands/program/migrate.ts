import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const migrateCommand = (program: Command, output: Output): void => {
  program
    .command('migrate')
    .description('bring the schema of the store up to date (every start does so as well)')
    .action(async (_options: unknown, command: Command) => {
      // Opening the installation migrates it, under a lock that lets one process do so at a time.
      const migrations = await withAdmin(command, (admin) => admin.countMigrations());
      output.result({ migrations, up_to_date: true });
    });
};
