import type { Model } from '../model/model.ts';
import type { GeneratedFile } from '../model/text.ts';
import { operationsText } from './operations.ts';
import { typesText } from './types.ts';

const folder = 'python/src/orderpass';

export const pythonFiles = (model: Model): GeneratedFile[] => [
  { path: `${folder}/types.py`, text: typesText(model) },
  { path: `${folder}/_operations.py`, text: operationsText(model, 'sync') },
  { path: `${folder}/_async_operations.py`, text: operationsText(model, 'async') },
];
