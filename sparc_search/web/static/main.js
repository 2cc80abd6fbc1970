import "./swap.js";
import "./tokens.js";
import "./keys.js";
import "./suggest.js";
import "./copy.js";
