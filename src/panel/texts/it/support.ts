/** Testi dell'area "support". */
import type { Texts } from '../texts.ts';

export const support: Texts['support'] = {};
