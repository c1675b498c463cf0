/** Settings of the audit. */
import { z } from 'zod';
import { number, onOff } from '#src/platform/settings.ts';

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
});

export type AuditSettings = z.infer<typeof auditSettings>;
