"""Is a family what it says it is? A report, finding by finding."""
