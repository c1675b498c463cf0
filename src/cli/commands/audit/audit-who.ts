import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Traced } from '#src/app/admin/admin.ts';
import { toEcs } from '#src/app/admin/terms.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const auditWhoCommand = (group: Command, output: Output): void => {
  group
    .command('who')
    .description(
      'show the use and the end of the API key, client secret or token on standard input; the value is not stored',
    )
    .option('--revoke', 'revoke it and everything that was issued for it, and show the proof')
    .action(async ({ revoke = false }: { revoke?: boolean }, command: Command) => {
      // Read from stdin: arguments are visible in the shell history and in the list of processes.
      const value = (await text(process.stdin)).trim();
      if (value === '') throw new UsageError('Give the value on standard input: … | orderpass audit who');
      const { traced, proved } = await withAdmin(command, async (admin) => ({
        traced: traceView(await admin.readTrace(value)),
        proved: revoke ? await admin.revokeTraced(value) : undefined,
      }));
      const proof = proved && { revoked: proved.revoked, events: proved.events.map(toEcs) };
      if (output.json) output.result({ ...traced, ...(proof === undefined ? undefined : { proof }) });
      else if (proof === undefined) {
        output.result(traced, 'To revoke it and everything that was issued for it: … | orderpass audit who --revoke');
      } else output.result({ ...traced, proof }, 'Every gateway refuses it within a second.');
    });
};

const traceView = ({
  id,
  kind,
  fingerprint,
  genuine,
  clientId,
  parent,
  parentToken,
  issued,
  refusals,
  ...use
}: Traced) => {
  const { calls, partial, scopesUsed, addresses, moreAddresses, firstUsed, lastUsed, refused, tokens, issuedUse } = use;
  return {
    ...toWire({ kind, fingerprint, credentialId: id, genuine, clientId, parent, parentToken }),
    issued: issued && toEcs(issued),
    ...toWire({
      calls,
      partial,
      scopesUsed,
      addresses,
      moreAddresses,
      firstUsed,
      lastUsed,
      refused,
      tokens,
      issuedUse,
    }),
    refusals: refusals.map(toEcs),
  };
};
