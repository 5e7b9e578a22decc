// What runs before the first paint: the page gets its colours, so that it never flashes in the wrong ones.

import {applyTheme, rememberedChoice, themeOf} from "./theme.js";

applyTheme(document.documentElement, themeOf(window, rememberedChoice(window)));
