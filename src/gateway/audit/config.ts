/** Settings of the audit. */
import { z } from 'zod';
import { hasLogin, number, onOff } from '#src/platform/settings.ts';
import { isEd25519Pem } from './tree/signed-note.ts';
import { readWitnessKey } from './tree/witness/cosignature.ts';

export const auditSettings = z.strictObject({
  audit_days: number(1, 36_500, 400).meta({
    description: 'Days that the audit is kept at least; older months are dropped as a whole',
    env: 'ORDERPASS_AUDIT_DAYS',
  }),
  audit_file: z.string().min(1).optional().meta({
    description: 'File to which the audit is appended as JSON lines',
    env: 'ORDERPASS_AUDIT_FILE',
  }),
  audit_stdout: onOff('off').meta({
    description: '`on` writes the audit as JSON lines to standard output',
    env: 'ORDERPASS_AUDIT_STDOUT',
  }),
  audit_http_url: z
    .url({ protocol: /^https?$/ })
    .refine((url) => !hasLogin(url), 'must hold no user and password: give ORDERPASS_AUDIT_HTTP_AUTHORIZATION')
    .optional()
    .meta({
      description: 'Address to which the audit is posted as JSON lines, again until it answers 2xx',
      env: 'ORDERPASS_AUDIT_HTTP_URL',
    }),
  audit_http_authorization: z
    .string()
    .regex(/^[\x20-\x7e]+$/)
    .optional()
    .meta({
      description: 'Authorization header of these requests, e.g. Bearer …',
      env: 'ORDERPASS_AUDIT_HTTP_AUTHORIZATION',
      secret: true,
    }),
  audit_key: z
    .string()
    .refine(isEd25519Pem, 'must be a private Ed25519 key in PEM, without a passphrase')
    .optional()
    .meta({
      description:
        'Private key (Ed25519, PEM) that signs checkpoints of the audit, the same for every gateway and command; default: one that is derived from the master keys',
      env: 'ORDERPASS_AUDIT_KEY',
      secret: true,
    }),
  audit_witness_url: z
    .url({ protocol: /^https?$/ })
    .refine((url) => !hasLogin(url), 'must hold no user and password')
    .optional()
    .meta({
      description: 'Submission prefix of a witness (C2SP tlog-witness) that signs checkpoints of the audit too',
      env: 'ORDERPASS_AUDIT_WITNESS_URL',
    }),
  audit_witness_key: z
    .string()
    .refine((text) => readWitnessKey(text) !== undefined, 'must be a verifier key of a cosignature/v1 with Ed25519')
    .optional()
    .meta({
      description: 'Verifier key of this witness: NAME+ID+KEY',
      env: 'ORDERPASS_AUDIT_WITNESS_KEY',
    }),
});

export type AuditSettings = z.infer<typeof auditSettings>;
