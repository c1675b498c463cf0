/** Settings of the panel. */
import { z } from 'zod';
import { onOff } from '#src/platform/settings.ts';

export const panelSettings = z.strictObject({
  enabled: onOff('on').meta({
    description: 'The panel for staff at /panel, of roles all and gateway',
    env: 'ORDERPASS_PANEL',
  }),
});
