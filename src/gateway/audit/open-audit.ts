/** Opens the audit of one gateway process: its recorder, and the services that sign, check, count, export and drop events. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { ChainPosition } from './chain/event-store.ts';
import { openExternalHeads } from './chain/external-heads.ts';
import type { AuditSettings } from './config.ts';
import { createFingerprint, type Fingerprint } from './event/fingerprint.ts';
import { openRecorder, type Recorder } from './record/recorder.ts';
import { createAuditRetention } from './retention/retention.ts';
import { createAuditHours, createHoursPoll } from './search/hours.ts';
import { createAuditSinks } from './sinks/feed-sinks.ts';
import { createReadKey } from './tree/signed-note.ts';
import { createTreeWatch } from './tree/tree-watch.ts';
import { readWitnessKey } from './tree/witness/cosignature.ts';
import { createWitness } from './tree/witness/witness.ts';
import { createAuditGuard } from './verify/guard.ts';

type AuditDeps = {
  settings: AuditSettings;
  db: Kysely<unknown>;
  /** For the services that have time. */
  background: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  /** See createAuditSinks. */
  readAuditAuthorization?: () => string | undefined;
  /** The key of the settings now, in PEM; default: that of the start. */
  readAuditKey?: () => string | undefined;
};

export type Audit = {
  recorder: Recorder;
  fingerprint: Fingerprint;
  /** Places at which the audit was found changed or removed. */
  problems: () => number;
  /** Body of /.well-known/audit-log. */
  logDocument: () => string;
  services: Service[];
};

export const openAudit = async (deps: AuditDeps): Promise<Audit> => {
  const { settings, db, background, box, clock, log, readAuditAuthorization: readAuthorization } = deps;
  const process = processName();
  const hours = createHoursPoll();
  const holder = `${process}:${randomUUID()}`;
  const readKey = createReadKey(box, deps.readAuditKey ?? (() => settings.audit_key));
  const { audit_witness_url: url, audit_witness_key: vkey = '' } = settings;
  const witness = url === undefined ? undefined : readWitnessKey(vkey);
  const witnesses = witness === undefined ? [] : [witness.vkey];
  const tree = createTreeWatch({ db: background, box, clock, log, readKey, witnesses });
  const onHeads = (heads: readonly ChainPosition[]): Promise<void> => {
    hours.onHeads(heads);
    return tree.onHeads(heads);
  };
  const recorder = await openRecorder({ db, box, clock, log, process });
  return {
    recorder,
    fingerprint: createFingerprint(box),
    problems: () => openExternalHeads(box).problems().length,
    logDocument: tree.document,
    services: [
      recorder.service,
      createAuditRetention({ db, box, clock, log }, settings.audit_days),
      createAuditGuard({ db: background, box, clock, log, onHeads }),
      createAuditHours({ db: background, clock, log, poll: hours.poll }),
      ...createAuditSinks({ db, box, log, readAuthorization, holder, checkpoint: tree.newest }, settings),
      ...(url === undefined || witness === undefined
        ? []
        : [createWitness({ db: background, log, key: tree.key, url, witness, holder, onCosigned: tree.onCosigned })]),
    ],
  };
};

const processName = (): string => `${hostname()}:${process.pid}`;
