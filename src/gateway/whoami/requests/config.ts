/** The setting of the request log. */
import { z } from 'zod';
import { number } from '#src/platform/settings.ts';

/** Every page looks into each day, so they are few. */
const daysMax = 31;

export const requestLogSettings = z.strictObject({
  request_log_days: number(0, daysMax, 7).meta({
    description:
      'Days for which callers see their own requests (`/api/whoami/requests`, panel, command line); 0 keeps none',
    env: 'ORDERPASS_REQUEST_LOG_DAYS',
  }),
});
