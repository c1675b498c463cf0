/**
 * A value of the address as it may go into a search. Throws VALIDATION_ERROR for what a search could take only in part.
 */
import type { View } from '../page/page.ts';
import { cursorMax, readSearch, readText } from '../page/read-query.ts';

type Asked = Pick<View, 'query' | 'texts'>;

const lengthMax = 255;

/** Trimmed; empty when it is not there. */
export const queryText = (view: Asked, name: string): string => readText(view, name, lengthMax) ?? '';

/** Words of a name, or an id; empty when it is not there. */
export const querySearch = (view: Asked): string => readSearch(view, 'q', lengthMax) ?? '';

/** Undefined when it is not there: a list begins at its beginning. */
export const queryCursor = (view: Asked): string | undefined => readText(view, 'after', cursorMax);
