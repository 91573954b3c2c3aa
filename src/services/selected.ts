// For the faces, which see no database.
export type { Selected, SelectOf } from '../database/selection/selected.ts'
