/** Settings of the audit. */
import { z } from 'zod';

export const auditSettings = z.strictObject({
  audit_days: z.coerce.number().int().min(1).max(36_500).default(400).meta({
    description: 'Days that the audit is kept at least; older months are dropped as a whole',
    env: 'ORDERPASS_AUDIT_DAYS',
  }),
});
