import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { readCheckpoint } from './read-checkpoint.ts';

type Options = { event?: string; checkpoint?: string; from?: string; out?: string };

export const auditProveCommand = (group: Command, output: Output): void => {
  group
    .command('prove')
    .description(
      'print a proof that others check offline: that an event is in the audit, or that a checkpoint continues an older one',
    )
    .option('--event <id>', 'id of the event, as search and export show it')
    .option('--checkpoint <file>', 'prove against this checkpoint; default: the newest')
    .option('--from <file>', 'prove that the newest checkpoint, or that of --checkpoint, continues this older one')
    .option('--out <file>', 'write the proof to this file')
    .action(async ({ event, checkpoint, from, out }: Options, command: Command) => {
      if ((event === undefined) === (from === undefined)) throw new UsageError('Give --event or --from');
      const kept = checkpoint === undefined ? undefined : readCheckpoint(checkpoint);
      const older = from === undefined ? '' : readCheckpoint(from);
      const proof = await withAdmin(command, (admin) =>
        event === undefined ? admin.proveConsistency(older, kept) : admin.proveEvent(event, kept),
      );
      if (out !== undefined) writeFileSync(out, proof, { flush: true });
      if (output.json) output.result({ proof });
      else if (out === undefined) process.stdout.write(proof);
    });
};
