/** Settings of the panel. */
import { z } from 'zod';

export const panelSettings = z.strictObject({
  enabled: z.enum(['on', 'off']).default('on').meta({
    description: 'The panel for staff at /panel, of roles all and gateway',
    env: 'ORDERPASS_PANEL',
  }),
});
