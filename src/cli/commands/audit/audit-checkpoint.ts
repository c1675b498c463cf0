import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const auditCheckpointCommand = (group: Command, output: Output): void => {
  group
    .command('checkpoint')
    .description('print the newest signed checkpoint of the audit, to be kept outside of this installation')
    .option('--out <file>', 'write it to this file')
    .option('--key', 'print the public key that verifies checkpoints')
    .option('--witnessed', 'the newest one that the witness signed too')
    .action(async ({ out, key, witnessed }: { out?: string; key?: true; witnessed?: true }, command: Command) => {
      const { checkpoint, vkey } = await withAdmin(command, (admin) =>
        witnessed ? admin.witnessedCheckpoint() : admin.auditCheckpoint(),
      );
      if (out !== undefined) writeFileSync(out, checkpoint, { flush: true });
      if (output.json) return output.result({ checkpoint, vkey });
      if (key) return output.line(vkey);
      if (out === undefined) process.stdout.write(checkpoint);
    });
};
