import type { Command } from 'commander';
import type { SchemaPlan } from '#src/app/installation/migrate-schema.ts';
import { settingsAndLogOf } from '../../terminal/command-settings.ts';
import type { Output } from '../../terminal/output.ts';

type MigrateOptions = { plan?: true; grantTo?: string };

export const migrateCommand = (program: Command, output: Output): void => {
  program
    .command('migrate')
    .description('apply the pending migrations to the database; run by the role that owns the schema')
    .option('--plan', 'print what would run as SQL and change nothing; exit code 1 when a migration is pending')
    .option('--grant-to <role>', 'give a role the rights to read and write rows, and none to change the schema')
    .action(async ({ plan, grantTo }: MigrateOptions, command: Command) => {
      const { migrateSchema, planSchema } = await import('#src/app/installation/migrate-schema.ts');
      const [settings, log] = await settingsAndLogOf(command);
      if (plan === true) return printPlan(await planSchema(settings, log, grantTo), output);
      const { pending, grants } = await migrateSchema(settings, log, grantTo);
      output.result({
        applied: pending.map(({ migration }) => migration),
        up_to_date: true,
        ...(grantTo === undefined ? undefined : { granted_to: grantTo, grants: output.json ? grants : grants.length }),
      });
    });
};

const printPlan = ({ pending, grants }: SchemaPlan, output: Output): void => {
  if (pending.length > 0) output.fail();
  if (output.json) return output.result({ pending, grants });
  const applying = pending.length === 0 ? '' : '. To apply them, run migrate, which also records them';
  output.line(`-- pending migrations: ${pending.length}${applying}`);
  for (const { migration, sql } of pending) output.line(`\n-- ${migration}\n${sql.trimEnd()}`);
  if (grants.length > 0) output.line(`\n-- rights of the role\n${grants.map((grant) => `${grant};`).join('\n')}`);
};
