import type { Command } from 'commander';
import { settingsAndLogOf } from '../../terminal/command-settings.ts';
import { abortOnSignal, showProgress } from '../../terminal/long-command.ts';
import type { Output } from '../../terminal/output.ts';

type BackupOptions = { to: string; withMasterKey?: true };
type RestoreOptions = { from: string; masterKeyFile?: string };

const backupHelp = `
The program may run and be used meanwhile. All that was stored before the command began is in the
backup. The folder holds base.tar and backup_manifest (as pg_basebackup makes them, with the WAL
that is needed), the signed heads of the audit, and backup.json with the size and SHA-256 of each
file, signed with a key that is derived from the master key.

Not in the backup, because they are yours or can be made again: the settings, the route table,
certificates, the log of PostgreSQL, the deliveries that the demo receiver shows. The master key is
in it only with --with-master-key: without the key no credential, secret or signature can be read
or checked, and with it the folder is as secret as the whole installation. Keep a copy of the key
elsewhere, or protect the backup as you protect the key.

The command keeps no more than this one backup: old ones are removed by you.`;

const restoreHelp = `
The data folder (ORDERPASS_DATA_DIR) must be empty or absent. It gets the folder restore.unfinished,
which keeps starts out until the restore is done. The backup is compared with its digests. Then the store is recovered, brought to the schema of this
version and checked, and the restore is recorded in the audit as store.restored.

What happened after the backup was taken is not in the restored store: orders and customers of that
time are missing, credentials that were revoked then are valid again, and webhooks that were
delivered then are sent again. Exit code 1 also when the audit in the backup has problems; the store
is restored nevertheless.`;

export const backupCommands = (program: Command, output: Output): void => {
  program
    .command('backup')
    .description('back up the embedded store into a new folder, also while the program runs')
    .requiredOption('--to <folder>', 'a folder that does not exist yet, or is empty')
    .option('--with-master-key', 'put the master key into the backup')
    .addHelpText('after', backupHelp)
    .action(async ({ to, withMasterKey: asked }: BackupOptions, command: Command) => {
      const { createBackup } = await import('#src/app/backup/create-backup.ts');
      const withMasterKey = asked === true;
      const progress = showProgress(output);
      const { folder, manifest } = await createBackup(...(await settingsAndLogOf(command)), {
        to,
        withMasterKey,
        signal: abortOnSignal(),
        onPercent: progress.show,
      }).finally(progress.end);
      const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
      const { id, taken_at, finished_at, wal } = manifest;
      output.result(
        { folder, backup: id, taken_at, finished_at, bytes, wal, with_master_key: withMasterKey },
        withMasterKey
          ? 'The backup holds the master key: protect it as you protect the key.'
          : 'The master key is not in the backup, which is useless without it: keep a copy of the key elsewhere.',
      );
    });
  program
    .command('restore')
    .description('restore a backup of the embedded store into an empty data folder, and check it')
    .requiredOption('--from <folder>', 'a folder that `backup` made')
    .option(
      '--master-key-file <file>',
      'file with the master key, for a backup without it; the data folder gets a copy',
    )
    .addHelpText('after', restoreHelp)
    .action(async ({ from, masterKeyFile }: RestoreOptions, command: Command) => {
      const { restoreBackup } = await import('#src/app/backup/restore-backup.ts');
      const progress = showProgress(output);
      const restored = await restoreBackup(...(await settingsAndLogOf(command)), {
        from,
        ...(masterKeyFile === undefined ? undefined : { masterKeyFile }),
        signal: abortOnSignal(),
        onPercent: progress.show,
      }).finally(progress.end);
      const { manifest, audit } = restored;
      output.result(
        {
          data_dir: restored.dataDir,
          backup: manifest.id,
          taken_at: manifest.taken_at,
          rows: restored.rows,
          audit_ok: audit.problems.length === 0,
          audit_events: audit.events,
          audit_problems: output.json ? audit.problems : audit.problems.length,
          master_key: restored.masterKey,
        },
        noteOf(manifest.taken_at),
      );
      for (const { chain, seq, problem } of output.json ? [] : audit.problems)
        output.error(`audit ${seq === null ? `chain ${chain}` : `event ${chain}-${seq}`}: ${problem}`);
      if (audit.problems.length > 0) output.fail();
    });
};

const noteOf = (takenAt: string): string =>
  `The store is as it was at ${takenAt}, or shortly after. What happened later is missing: revoke again
what was revoked later, and expect webhooks to be sent again. The audit records the restore.`;
