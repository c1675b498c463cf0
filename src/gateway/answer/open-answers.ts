/** Joins what every answer of the gateway itself needs: headers, dialects, the audit, the figures and the log. */
import { Fault } from '#src/contract/fault.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { DpopSettings } from '../dpop/config.ts';
import { storeUnavailable } from '../model/faults.ts';
import type { Exchange } from '../request/exchange.ts';
import { type DialectSettings, dialectsOf } from './dialects.ts';
import { honestStatus, legacyStatus, type StatusFor } from './legacy-status.ts';
import { createEdgeHeaders, type EdgeHeaders, strictTransportOf } from './security-headers.ts';
import {
  createWriteAnswer,
  createWriteFault,
  type NoteDenial,
  type WriteAnswer,
  type WriteFault,
} from './write-answer.ts';

type AnswersDeps = {
  settings: DpopSettings & { realm: string; legacy_status: 'on' | 'off'; hsts_seconds: number };
  origin: string;
  log: Logger;
  /** Counts each answer as its head is written. */
  answered: (exchange: Exchange, status: number) => void;
  /** Counts refusals by their code. */
  refused: (fault: Fault) => void;
  /** Ends the request for the audit. */
  settle: (exchange: Exchange) => void;
  noteDenial: NoteDenial;
  /** Writes the refusal to the audit. Undefined: nothing to wait for. */
  auditRefusal: (exchange: Exchange, fault: Fault, reason?: string) => Promise<void> | undefined;
};

export type Answers = {
  edgeHeaders: EdgeHeaders;
  dialects: DialectSettings;
  write: WriteAnswer;
  /** With the status that clients of the interface expect. */
  writeFault: WriteFault;
  /** With the real status, where a protocol or another proxy reads it: there, 200 would mean yes. */
  writeHonestFault: WriteFault;
  /**
   * For a path that is a resource of its own (RFC 9728): challenges name its metadata. `relayFault`: for a refusal that another
   * request of the gateway has recorded and counted.
   */
  forResource: (path: string) => { writeFault: WriteFault; relayFault: WriteFault };
  statusFor: StatusFor;
};

export const openAnswers = ({ settings, origin, log, answered, refused, settle, ...deps }: AnswersDeps): Answers => {
  const edgeHeaders = createEdgeHeaders(strictTransportOf(origin, settings));
  const dialects = dialectsOf(origin, settings);
  const write = createWriteAnswer({ edgeHeaders, answered, settle });
  const statusFor = settings.legacy_status === 'on' ? legacyStatus : honestStatus;
  const common = {
    write,
    dialects,
    toFault,
    log,
    refused,
    noteDenial: deps.noteDenial,
    auditRefusal: deps.auditRefusal,
  };
  return {
    edgeHeaders,
    dialects,
    write,
    writeFault: createWriteFault({ ...common, statusFor }),
    writeHonestFault: createWriteFault({ ...common, statusFor: honestStatus }),
    forResource: (resource) => {
      const honest = { ...common, dialects: { ...dialects, resource }, statusFor: honestStatus };
      return { writeFault: createWriteFault(honest), relayFault: createWriteFault({ ...honest, ...unrecorded }) };
    },
    statusFor,
  };
};

const unrecorded = { refused: () => undefined, noteDenial: () => undefined, auditRefusal: () => undefined };

/** An unreachable store is worth a retry (503). Anything else that is not a Fault is a defect. */
const toFault = (thrown: unknown): Fault | undefined => {
  if (thrown instanceof Fault) return thrown;
  return isTransient(thrown) ? storeUnavailable(thrown) : undefined;
};
