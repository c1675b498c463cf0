/** Every generated file of the clients, as text. `write.ts` writes them; a test compares them with what is in the folder. */
import { goFiles } from './go/files.ts';
import { programDocument } from './model/document.ts';
import { type Model, readModel } from './model/model.ts';
import type { GeneratedFile } from './model/text.ts';
import { phpFiles } from './php/files.ts';
import { pythonFiles } from './python/files.ts';
import { typescriptFiles } from './typescript.ts';

/** Folder of a client below `src/clients` → its emitter. */
export const emitters: Readonly<Record<string, (model: Model) => GeneratedFile[]>> = {
  typescript: typescriptFiles,
  python: pythonFiles,
  php: phpFiles,
  go: goFiles,
};

export const generatedFiles = (): GeneratedFile[] => {
  const model = readModel(programDocument());
  return Object.values(emitters).flatMap((emit) => emit(model));
};
