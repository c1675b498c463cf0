/** Settings of the panel, and the addresses of its pages that other parts link to. */
import { z } from 'zod';
import { onOff } from '#src/platform/settings.ts';

export { linkPath, providerReturnPath } from './sign-in/paths.ts';

export const panelSettings = z.strictObject({
  enabled: onOff('on').meta({
    description: 'The panel for staff at /panel, of roles all and gateway',
    env: 'ORDERPASS_PANEL',
  }),
});
