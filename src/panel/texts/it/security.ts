/** Testi dell'area "security". */
import type { Texts } from '../texts.ts';

export const security: Texts['security'] = {};
