import type { Command } from 'commander';
import type { MasterKeyStatus } from '#src/app/admin/master-key.ts';
import { settingsAndLogOf } from '../../terminal/command-settings.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';

export const masterKeyCommands = (program: Command, output: Output): void => {
  const group = program.command('master-key').description('the key that opens the store');
  group
    .command('status')
    .description(
      'show which master keys open the store, which ones each running process holds, and whether the previous one can go; exit code 1 unless it can',
    )
    .action(async (_options: unknown, command: Command) => {
      const { showMasterKey } = await import('#src/app/admin/master-key.ts');
      const status = await showMasterKey(...(await settingsAndLogOf(command)));
      if (output.json) output.result(toWire(status));
      else showStatus(output, status);
      if (!status.previousCanGo) output.fail();
    });
  group
    .command('rotate')
    .description(
      'seal the store by the new key, and remove the previous one when every running process holds the new one; exit code 1 while one does not',
    )
    .option('--wait <seconds>', 'time for all processes to hold the new key, 0 to 3600', waitSeconds, 60)
    .action(async ({ wait }: { wait: number }, command: Command) => {
      const { rotateMasterKey } = await import('#src/app/admin/master-key.ts');
      const { key, waiting, kept } = await rotateMasterKey(...(await settingsAndLogOf(command)), {
        waitMsMax: wait * 1000,
        onWaiting: (found) => {
          output.error('The store is sealed by both keys. Processes that do not hold the new one yet:');
          for (const { name, role } of found) output.error(`  ${name} (${role})`);
        },
      });
      output.result({
        master_key: key,
        previous_removed: waiting.length === 0,
        ...(waiting.length === 0 ? undefined : { waiting: waiting.map(({ name }) => name) }),
        ...(kept === undefined ? undefined : { previous_file: kept }),
      });
      if (waiting.length === 0) return;
      output.error(
        'Without the previous key these processes could not start again, so it stays. Give them the new key, then run the command again.',
      );
      output.fail();
    });
};

const waitSeconds = (text: string): number => {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds > 3600) throw new UsageError('--wait is 0 to 3600 seconds');
  return seconds;
};

const meanings: Record<MasterKeyStatus['state'], string> = {
  settled: 'the current key alone opens the store',
  to_rotate: 'the previous key opens the store; master-key rotate adds the current one',
  rotating: 'the current key and others open the store; master-key rotate removes the others',
  unknown_key: 'no given key opens the store',
  unsealed: 'no start of this release has opened the store yet',
};

const showStatus = (output: Output, status: MasterKeyStatus): void => {
  const { state, current, previous, sealedBy, processes, previousCanGo } = status;
  output.line(`${state}: ${meanings[state]}`);
  output.line(`current key   ${current}`);
  output.line(`previous key  ${previous ?? 'none'}`);
  output.line(`opened by     ${sealedBy.join(', ') || 'none'}`);
  for (const { name, role, keys, canStart } of processes)
    output.line(
      `process       ${name} (${role}) holds ${keys.join(', ') || 'no key'}${canStart ? '' : ': it could not start again'}`,
    );
  if (previous !== null) output.line(previousCanGo ? 'The previous key can go.' : 'The previous key is still needed.');
};
